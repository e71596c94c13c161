//! Where the archive is that is asked: a folder of this host, or with feature `s3` a bucket.

use std::path::Path;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use url::Url;

use super::error::QueryError;
use crate::folder::Archive;

/// What the address of a bucket begins with.
const S3: &str = "s3";

/// The folder of an archive as an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(Url);

impl Place {
    /// The archive of this name: `s3://BUCKET/FOLDER`, or the path of a folder.
    ///
    /// # Errors
    /// When the folder has no archive. Whether a bucket has one shows when a session begins.
    pub fn new(name: &Path) -> Result<Self, QueryError> {
        let bucket = name.to_str().filter(|name| name.starts_with("s3://"));
        match bucket {
            Some(name) => Self::of_bucket(name),
            None => Self::of_folder(name),
        }
    }

    fn of_folder(path: &Path) -> Result<Self, QueryError> {
        let archive = Archive::open(path)?;
        let absolute = std::path::absolute(archive.path())
            .map_err(|source| QueryError::System { what: "folder of the archive", source })?;
        let address = Url::from_directory_path(&absolute);
        let address =
            address.map_err(|()| QueryError::Engine(format!("{}: no path from the root", absolute.display())))?;
        Ok(Self(address))
    }

    fn of_bucket(name: &str) -> Result<Self, QueryError> {
        if cfg!(not(feature = "s3")) {
            return Err(QueryError::Engine(format!(
                "{name}: this build reads folders alone; one with feature s3 reads buckets"
            )));
        }
        // With the slash at the end what is joined to it is below it.
        let address = Url::parse(&format!("{}/", name.trim_end_matches('/'))).ok();
        let bare = |url: &Url| {
            url.has_host() && url.query().is_none() && url.fragment().is_none() && url.username().is_empty()
        };
        let address = address.filter(bare);
        Ok(Self(address.ok_or_else(|| QueryError::Engine(format!("{name}: write a bucket as s3://BUCKET/FOLDER")))?))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn is_bucket(&self) -> bool {
        self.0.scheme() == S3
    }
}

/// Where the engine finds files: on this host, and in every bucket that a question names.
#[derive(Debug, Default)]
pub(super) struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        match self.0.get_store(url) {
            Err(_) if url.scheme() == S3 => {
                let store = bucket(url)?;
                self.0.register_store(url, store.clone());
                Ok(store)
            }
            known => known,
        }
    }
}

/// A bucket, with access and region by the environment variables that the tools of AWS have.
#[cfg(feature = "s3")]
fn bucket(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;
    use object_store::{BackoffConfig, RetryConfig};

    /// Who waits for an answer wants to know soon that a bucket is not reached.
    const RETRIES: usize = 3;
    const LONGEST: std::time::Duration = std::time::Duration::from_secs(20);
    let retry = RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: LONGEST };
    let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry);
    let store = builder.build().map_err(|error| DataFusionError::ObjectStore(Box::new(error)))?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "s3"))]
fn bucket(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    Err(DataFusionError::Execution(format!("{url}: this build reads no buckets; one with feature s3 does")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "s3")]
    fn a_bucket_has_a_name_and_perhaps_a_folder() {
        for (name, url) in [("s3://lines", "s3://lines/"), ("s3://lines/all/runs/", "s3://lines/all/runs/")] {
            let place = Place::new(Path::new(name)).unwrap();
            assert_eq!((place.url().as_str(), place.is_bucket()), (url, true));
        }
        for name in ["s3://", "s3:///runs", "s3://a@lines", "s3://lines?x", "s3://lines#x"] {
            let error = Place::new(Path::new(name)).unwrap_err().to_string();
            assert_eq!(error, format!("{name}: write a bucket as s3://BUCKET/FOLDER"));
        }
    }

    #[test]
    fn a_folder_without_an_archive_is_an_error() {
        let error = Place::new(Path::new("/nowhere/runs")).unwrap_err().to_string();
        assert_eq!(error, "/nowhere/runs: no archive; make one with rrul archive add");
    }
}
