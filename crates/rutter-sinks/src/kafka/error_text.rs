//! Explains the errors of brokers.

use rskafka::client::error::{Error, ProtocolError};
use rutter_config::{Broker, Sasl};

use crate::tls::{explain, explain_text};

/// The text of an error, with a remedy if one is known.
pub(super) fn describe(why: &Error, topic: &str) -> String {
    let Error::ServerError {
        protocol_error,
        error_message,
        ..
    } = why
    else {
        return why.to_string();
    };
    let hint = match protocol_error {
        ProtocolError::TopicAuthorizationFailed => {
            format!("we may not write to topic `{topic}`: grant DESCRIBE and WRITE on it")
        }
        ProtocolError::ClusterAuthorizationFailed => "we have no rights in this cluster".to_owned(),
        ProtocolError::NotEnoughReplicas | ProtocolError::NotEnoughReplicasAfterAppend => {
            format!("topic `{topic}` has too few replicas in sync")
        }
        ProtocolError::KafkaStorageError => "the disk of the broker fails or is full".to_owned(),
        other => other.to_string(),
    };
    match error_message {
        Some(message) => format!("{hint} ({message})"),
        None => hint,
    }
}

/// The text of an error while connecting. `fault` is what the check of the certificate found.
pub(super) fn connecting(why: String, fault: Option<&rustls::Error>, settings: &Broker) -> String {
    let tls = settings.tls.as_ref();
    let of_tls = tls.and_then(|tls| match fault {
        Some(fault) => Some(explain(fault, tls)),
        None => explain_text(&why, tls),
    });
    let of_login = || refused_login(&why, settings.sasl.as_ref()?);
    match of_tls.or_else(of_login) {
        Some(text) => format!("{text} ({})", settings.brokers.join(", ")),
        None => why,
    }
}

/// Explains a refused login.
fn refused_login(why: &str, sasl: &Sasl) -> Option<String> {
    let (name, user) = (sasl.mechanism.name(), &sasl.user);
    if why.contains("SaslAuthenticationFailed") {
        return Some(format!(
            "the broker refuses user `{user}` or the password ({name}): see `sasl-user` and `sasl-password-file`"
        ));
    }
    let unknown = ["UnsupportedSaslMechanism", "unsupported sasl mechanism"];
    let is_unknown = unknown.iter().any(|part| why.contains(part));
    is_unknown.then(|| {
        format!("the broker does not offer {name}: change `sasl-mechanism`, or enable it there")
    })
}

/// The setting of the topic that a request exceeded.
pub(super) fn size_setting(why: &Error) -> Option<&'static str> {
    match why {
        Error::ServerError {
            protocol_error: ProtocolError::MessageTooLarge,
            ..
        } => Some("max.message.bytes"),
        Error::ServerError {
            protocol_error: ProtocolError::RecordListTooLarge,
            ..
        } => Some("segment.bytes"),
        _ => None,
    }
}

/// The warning that requests are limited to this size, with the setting to raise.
pub(super) fn smaller_requests(setting: &str, bytes: usize, usual: usize) -> String {
    format!(
        "the topic accepts requests of at most about {bytes} bytes: messages are sent in more requests, which is slower; raise \
         its `{setting}` to {usual} or more"
    )
}

/// The error for a single message that the topic rejects, with the setting to raise.
pub(super) fn too_large(topic: &str, setting: &str, key: &[u8], bytes: usize) -> String {
    let key = String::from_utf8_lossy(key);
    format!(
        "topic `{topic}` does not accept a message of {bytes} bytes (key `{key}`): raise its `{setting}` to at least \
         {bytes}; until then all later rows wait"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rskafka::client::error::RequestContext;

    #[test]
    fn errors_are_explained_with_a_remedy() {
        let refused = |protocol_error| Error::ServerError {
            protocol_error,
            error_message: None,
            request: RequestContext::Partition("rutter".into(), 0),
            response: None,
            is_virtual: false,
        };
        assert_eq!(
            describe(&refused(ProtocolError::TopicAuthorizationFailed), "rutter"),
            "we may not write to topic `rutter`: grant DESCRIBE and WRITE on it"
        );
        assert_eq!(
            describe(&refused(ProtocolError::KafkaStorageError), "rutter"),
            "the disk of the broker fails or is full"
        );
        assert_eq!(describe(&Error::Timeout, "rutter"), "Timeout");
        assert_eq!(
            size_setting(&refused(ProtocolError::MessageTooLarge)),
            Some("max.message.bytes")
        );
        assert_eq!(
            size_setting(&refused(ProtocolError::RecordListTooLarge)),
            Some("segment.bytes")
        );
        assert_eq!(size_setting(&Error::Timeout), None);
    }
}
