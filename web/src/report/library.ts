// The parts of Apache ECharts that the report uses.
import { LineChart, ScatterChart } from "echarts/charts";
import { GraphicComponent, GridComponent, LegendPlainComponent, MarkAreaComponent } from "echarts/components";
import { type ECharts, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([LineChart, ScatterChart, GraphicComponent, GridComponent, LegendPlainComponent, MarkAreaComponent, SVGRenderer]);

/** What a chart is drawn from. */
export type ChartOption = Parameters<ECharts["setOption"]>[0];

export { type ECharts, init };
