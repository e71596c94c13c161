//! The document of a page, as a browser wants it: so that it asks for the same objects of the same hosts, each once the
//! object that it hangs on is there.
//!
//! Objects that hang on the document itself are in its markup, where a browser's scanner finds them. All others are
//! asked for by a script as the object before them arrives, after the same time to think as in the synthetic load.

use std::fmt::Write;

use rrul_model::page::{ObjectKind, Page};

/// The script that asks for what is not in the markup: `o` has for each object its parent, kind, address, time to think
/// in milliseconds, and whether the load waits for it. `window.rrulComplete` is when all of those had arrived.
const SCRIPT: &str = "\
const seen={};let left=o.filter(x=>x[4]).length;\
function done(n){if(seen[n])return;seen[n]=1;\
if(o[n][4]&&!--left)window.rrulComplete=performance.now();\
o.forEach((x,m)=>{if(x[0]===n&&!x[5])setTimeout(()=>ask(m),x[3])})}\
function ask(n){const x=o[n],u=x[2],d=()=>done(n);let e;\
if(x[1]==='beacon'){navigator.sendBeacon(u);return d()}\
if(x[1]==='fetch'||x[1]==='font')return fetch(u,{mode:'cors'}).then(r=>r.arrayBuffer()).then(d,d);\
if(x[1]==='script'){e=document.createElement('script');e.async=true;e.src=u}\
else if(x[1]==='css'){e=document.createElement('link');e.rel='stylesheet';e.href=u}\
else{e=document.createElement('img');e.src=u}\
e.onload=e.onerror=d;(document.body||document.head).appendChild(e)}\
addEventListener('DOMContentLoaded',()=>done(0))";

/// The document of this page; hosts are named by their label and `suffix`.
pub(super) fn html(page: &Page, suffix: &str) -> String {
    let mut table = String::new();
    let (mut head, mut body) = (String::new(), String::new());
    let scheme = if page.secure { "https" } else { "http" };
    for (number, object) in page.objects.iter().enumerate() {
        let url = format!("{scheme}://{}.{suffix}/{}/{number}", page.hosts[object.host].name, page.name);
        let kind = object.kind;
        let marked = object.parent == Some(0) && markup(&mut head, &mut body, kind, &url, number, object.critical);
        let parent = object.parent.map_or(-1, |parent| i64::try_from(parent).unwrap_or(-1));
        let think = object.think.as_millis();
        let (awaited, marked) = (u8::from(!object.later), u8::from(marked));
        let name = name_of(kind);
        // What the markup names need not be named twice.
        let url = if marked == 1 || number == 0 { "" } else { &url };
        let _ = write!(table, "[{parent},'{name}','{url}',{think},{awaited},{marked}],");
    }
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>{}</title><link rel=icon href=data:,>\
         <script>const o=[{table}];{SCRIPT}</script>{head}</head><body><p>{}</p>{body}</body></html><!--",
        page.name, page.title
    )
}

fn name_of(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Html => "html",
        ObjectKind::Css => "css",
        ObjectKind::Script => "script",
        ObjectKind::Font => "font",
        ObjectKind::Image => "image",
        ObjectKind::Fetch => "fetch",
        ObjectKind::Beacon => "beacon",
    }
}

/// Puts an object into the markup; `false` for a kind that has no place there.
fn markup(head: &mut String, body: &mut String, kind: ObjectKind, url: &str, number: usize, critical: bool) -> bool {
    let done = format!("onload=done({number}) onerror=done({number})");
    let _ = match kind {
        ObjectKind::Css => write!(head, "<link rel=stylesheet href={url} {done}>"),
        ObjectKind::Script if critical => write!(head, "<script src={url} {done}></script>"),
        ObjectKind::Script => write!(head, "<script async src={url} {done}></script>"),
        ObjectKind::Font => write!(head, "<link rel=preload as=font crossorigin href={url} {done}>"),
        ObjectKind::Image => write!(body, "<img src={url} alt width=99 height=99 {done}>"),
        ObjectKind::Html | ObjectKind::Fetch | ObjectKind::Beacon => return false,
    };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_names_every_object_once_and_fits_its_length() {
        let suffix = "65535.0123456789abcdef0123456789abcdef.rrul.test:65535";
        for name in Page::NAMES {
            let page = Page::named(name).unwrap();
            let text = html(&page, suffix);
            assert!((text.len() as u64) < page.objects[0].octets.0, "{name}: {}", text.len());
            for (number, object) in page.objects.iter().enumerate().skip(1) {
                let url = format!("://{}.{suffix}/{name}/{number}", page.hosts[object.host].name);
                let named = text
                    .match_indices(&url)
                    .filter(|(at, _)| !text[at + url.len()..].starts_with(|next: char| next.is_ascii_digit()));
                assert_eq!(named.count(), 1, "{name}: object {number}");
            }
        }
    }
}
