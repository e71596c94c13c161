//! SVG from a drawing: Apache ECharts in an embedded QuickJS, without a browser.

use std::thread;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

use crate::drawing::Drawing;
use crate::drawing::font;
use crate::error::ViewError;

/// Most stack the chart library may use, bytes; drawing nests deeper than the interpreter's usual 256 KiB.
const SCRIPT_STACK: usize = 8 << 20;

/// Stack of the thread that draws, bytes: the script's and room for what it is called from.
const THREAD_STACK: usize = SCRIPT_STACK + (4 << 20);

/// Bytes that the script may allocate before unused ones are looked for.
const GARBAGE: usize = 64 << 20;

/// What the chart library expects of its surroundings, and the one function that we call.
///
/// Timers never fire: nothing is animated. Text is measured by [`font::width_css`], not by the library's guess.
const PRELUDE: &str = "
    globalThis.setTimeout = () => 0;
    globalThis.clearTimeout = () => {};
    globalThis.console = { log() {}, warn() {}, error() {}, info() {} };
";
/// Points of lines are handed over as plain numbers, of which the library makes no copies: with pairs, much of the time is theirs.
const DRAW: &str = "
    echarts.setPlatformAPI({ measureText: (text, font) => ({ width: measureWidth(String(text), String(font || '')) }) });
    const flat = (pairs) => {
        const values = new Float64Array(2 * pairs.length);
        pairs.forEach(([x, y], index) => {
            values[2 * index] = x === null ? NaN : x;
            values[2 * index + 1] = y === null ? NaN : y;
        });
        return values;
    };
    globalThis.draw = (text, width, height) => {
        const option = JSON.parse(text);
        for (const series of option.series ?? []) {
            if (series.type === 'line' && series.data) {
                series.data = flat(series.data);
                series.dimensions = ['x', 'y'];
            }
        }
        const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
        chart.setOption(option);
        const svg = chart.renderToSVGString();
        chart.dispose();
        return svg;
    };
";

/// The chart library, loaded once for any number of drawings.
///
/// Drawings of one renderer have element names of their own, so that several fit into one page.
pub struct Renderer<'js> {
    context: Ctx<'js>,
}

impl Renderer<'_> {
    /// The drawing as SVG text.
    ///
    /// # Errors
    /// When the library refuses the drawing.
    pub fn svg(&self, drawing: &Drawing) -> Result<String, ViewError> {
        let option = serde_json::to_string(&drawing.option)?;
        let draw: Function<'_> = self.context.globals().get("draw").catch(&self.context).map_err(library_error)?;
        let svg: String =
            draw.call((option, drawing.width, drawing.height)).catch(&self.context).map_err(library_error)?;
        Ok(with_title(&svg, &drawing.title))
    }
}

/// Loads the chart library and hands it to `work`.
///
/// Loading takes most of the time of a single drawing: who draws several does so within one call.
///
/// # Errors
/// When the library cannot be loaded, and those of `work`.
pub fn with_renderer<T: Send>(work: impl FnOnce(&Renderer<'_>) -> Result<T, ViewError> + Send) -> Result<T, ViewError> {
    // A thread of its own, because the caller's stack may be smaller than what drawing needs.
    thread::scope(|scope| {
        thread::Builder::new()
            .name("draw".to_owned())
            .stack_size(THREAD_STACK)
            .spawn_scoped(scope, || load_and(work))
            .map_err(ViewError::Thread)?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn load_and<T>(work: impl FnOnce(&Renderer<'_>) -> Result<T, ViewError>) -> Result<T, ViewError> {
    let library = font::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/chart-library.js.zst")));
    let outside = |error: rquickjs::Error| ViewError::Library(error.to_string());
    let runtime = Runtime::new().map_err(outside)?;
    runtime.set_max_stack_size(SCRIPT_STACK);
    // What one drawing leaves behind is small beside this: to look for it many times while drawing only takes time.
    runtime.set_gc_threshold(GARBAGE);
    let context = Context::full(&runtime).map_err(outside)?;
    context.with(|context| {
        let measure = Function::new(context.clone(), |text: String, css: String| font::width_css(&text, &css))
            .catch(&context)
            .map_err(library_error)?;
        context.globals().set("measureWidth", measure).catch(&context).map_err(library_error)?;
        for script in [PRELUDE.as_bytes(), library.as_slice(), DRAW.as_bytes()] {
            context.eval::<(), _>(script).catch(&context).map_err(library_error)?;
        }
        work(&Renderer { context })
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn library_error(error: rquickjs::CaughtError<'_>) -> ViewError {
    ViewError::Library(error.to_string().lines().collect::<Vec<_>>().join(" "))
}

/// Names the picture for those who hear it read, and for the tab of a browser.
fn with_title(svg: &str, title: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    match svg.split_once('>') {
        Some((open, rest)) => format!("{open} role=\"img\"><title>{title}</title>{rest}"),
        None => svg.to_owned(),
    }
}
