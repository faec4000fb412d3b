//! Errors as problem details (RFC 9457).

use hyper::StatusCode;

/// An error for the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// What happened, and what to do.
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Problem {
            status,
            detail: detail.into(),
        }
    }

    /// The request cannot be understood.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The body, as `application/problem+json`.
    pub(crate) fn json(&self) -> Vec<u8> {
        serde_json::json!({
            "title": self.status.canonical_reason().unwrap_or_default(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        })
        .to_string()
        .into_bytes()
    }
}
