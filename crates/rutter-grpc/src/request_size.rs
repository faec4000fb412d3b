//! The answer to a request that is too long.

use tonic::codegen::http::Response;
use tonic::{Code, Status};

use crate::server::LONGEST_REQUEST;

/// Gives the refusal of a request that is too long its own code. The library sends OUT_OF_RANGE, which here means that
/// changes were missed. Only an open stream of changes sends that, after its headers.
pub(crate) fn is_too_long<B: Default>(response: Response<B>) -> Response<B> {
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() == Code::OutOfRange => {
            let text =
                format!("this request is too long: at most {LONGEST_REQUEST} bytes are read");
            Status::resource_exhausted(text).into_http()
        }
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_too_long_is_no_sign_of_missed_changes() {
        let code = |status: Status| {
            let response = is_too_long::<String>(status.into_http());
            Status::from_header_map(response.headers()).map(|status| status.code())
        };
        let library = Status::out_of_range("Error, decoded message length too large");
        assert_eq!(code(library), Some(Code::ResourceExhausted));
        let other = Status::invalid_argument("within");
        assert_eq!(code(other), Some(Code::InvalidArgument));
    }
}
