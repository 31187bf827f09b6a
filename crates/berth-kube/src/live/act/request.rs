//! One request to the API server: bounded in time, and what comes of it in the actuator's words.

use std::time::Duration;

use kube::api::PatchParams;
use tokio::time::timeout;

use crate::live::change::{Outcome, Refuser};

/// The longest that one request may take.
pub(super) const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);

/// Attempts at one write, with a pause that doubles from the first.
pub(super) const ATTEMPTS_MAX: u32 = 5;
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The field manager of everything that the scheduler writes.
pub const MANAGER: &str = "berth-scheduler";

/// Parameters of a patch by the scheduler.
pub(super) fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// The answer to a request, or what its failure means for the bind that it is for.
pub(super) async fn within<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Outcome> {
    match timeout(REQUEST_TIME_MAX, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(refused(&status)),
        Ok(Err(error)) => Err(trouble(error.to_string())),
        Err(_) => Err(trouble("the API server did not answer".to_owned())),
    }
}

/// What an answer of the API server comes to that is no success. What has gone or was changed at the
/// same time is nobody's refusal.
pub(super) fn refused(status: &kube::core::Status) -> Outcome {
    let by = match status.code {
        404 | 409 | 429 | 500..=599 => Refuser::Trouble,
        _ => Refuser::Admission,
    };
    let why = status.message.clone();
    Outcome::Refused { why, by }
}

pub(super) fn trouble(why: String) -> Outcome {
    let by = Refuser::Trouble;
    Outcome::Refused { why, by }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn only_a_no_is_a_refusal() {
        for (code, by) in [
            (403, Refuser::Admission),
            (422, Refuser::Admission),
            (404, Refuser::Trouble),
            (409, Refuser::Trouble),
            (429, Refuser::Trouble),
            (500, Refuser::Trouble),
            (503, Refuser::Trouble),
        ] {
            let status = Status::failure("why", "Reason").with_code(code);
            let Outcome::Refused { by: found, why } = refused(&status) else {
                panic!("{code} is no success");
            };
            assert_eq!((found, why.as_str()), (by, "why"), "{code}");
        }
    }
}
