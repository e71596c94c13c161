//! From a request to the object that it asks for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use hyper::http::response::Builder;
use rrul_model::page::{ObjectKind, Page};

use super::body::ObjectBody;
use super::visit::{Visit, suffix_of};

/// What is answered.
pub(super) struct Answer {
    /// What the manifest has the server take before it answers.
    wait: Duration,
    status: StatusCode,
    media: &'static str,
    pub(super) body: ObjectBody,
}

impl Answer {
    pub(super) fn response(&self) -> Builder {
        hyper::Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, HeaderValue::from_static(self.media))
            .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
            // Fonts and data are asked for across hosts, and the times of all objects too.
            .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))
            .header("timing-allow-origin", HeaderValue::from_static("*"))
    }
}

fn pages() -> &'static [Arc<Page>] {
    static ONCE: OnceLock<Vec<Arc<Page>>> = OnceLock::new();
    ONCE.get_or_init(|| Page::NAMES.into_iter().filter_map(Page::named).map(Arc::new).collect())
}

/// The answer to a request to this host for this path: `/PAGE/NUMBER`, or `/PAGE/refresh`; after the time that the server is
/// to take.
pub(super) async fn answer_to(visit: &Visit, host: &str, path: &str) -> Answer {
    let found = suffix_of(host).and_then(|suffix| find(path, |page| visit.document(page, &suffix)));
    let answer = found.unwrap_or_else(|| Answer {
        wait: Duration::ZERO,
        status: StatusCode::NOT_FOUND,
        media: "text/plain",
        body: ObjectBody::new("No such object.\n", 25, 0),
    });
    if !answer.wait.is_zero() {
        tokio::time::sleep(answer.wait).await;
    }
    answer
}

fn find(path: &str, document: impl FnOnce(&'static Page) -> Bytes) -> Option<Answer> {
    let (name, object) = path.strip_prefix('/')?.split_once('/')?;
    let page = pages().iter().find(|page| page.name == name)?;
    let (kind, octets, wait, number) = if object == "refresh" {
        let refresh = page.refresh.as_ref()?;
        (ObjectKind::Fetch, refresh.octets.0, refresh.wait, 0)
    } else {
        let number: usize = object.parse().ok()?;
        let object = page.objects.get(number)?;
        (object.kind, object.octets.0, object.wait, number)
    };
    let body = match kind {
        ObjectKind::Html => ObjectBody::new(document(page), octets, number),
        kind => ObjectBody::of_kind(kind, octets, number),
    };
    Some(Answer { wait, status: StatusCode::OK, media: kind.media_type(), body })
}

#[cfg(test)]
mod tests {
    use hyper::body::Body;

    use super::super::document::html;
    use super::*;

    #[test]
    fn every_object_of_every_page_is_served_at_its_length_and_nothing_else() {
        let find = |path: &str| find(path, |page| html(page, "1.x.rrul.test").into());
        for page in pages() {
            for (number, object) in page.objects.iter().enumerate() {
                let answer = find(&format!("/{}/{number}", page.name)).unwrap();
                assert_eq!(answer.body.size_hint().exact(), Some(object.octets.0));
                assert_eq!(answer.wait, object.wait);
            }
            assert!(find(&format!("/{}/refresh", page.name)).is_some());
            assert!(find(&format!("/{}/{}", page.name, page.objects.len())).is_none());
        }
        for path in ["", "/", "/rrul2025", "/rrul2025/", "/rrul2025/-1", "/../etc/passwd", "/rrul2025/0/1", "*"] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
