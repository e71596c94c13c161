//! Why what is at the root of an interface cannot be set.

/// Why what is at the root of an interface cannot be set.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsettable {
    #[error("tc shows its queue disciplines in a way that is not understood: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it has no root queue discipline; set up a shaper first")]
    NoRoot,
    #[error("its root queue discipline is {0}, which does not shape; set up cake, htb or tbf there first")]
    Kind(String),
    #[error("tc shows no {0}")]
    Missing(&'static str),
    #[error("its cake finds its rate by itself (autorate-ingress); set a bandwidth first")]
    Autorate,
    #[error("its htb has no class; set up a class with a rate first")]
    NoClass,
    #[error("its htb has several classes at the root; only one limit for all traffic can be tuned")]
    SeveralClasses,
    #[error("tc shows a class that is not understood: {0}")]
    Class(String),
    #[error("tc shows classes of htb without their parents")]
    Orphans,
    #[error("its tbf has a peak rate as well; such a shaper is not supported")]
    PeakRate,
}
