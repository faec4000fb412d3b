//! Checks the Origin header. A browser lets every page connect to every server, and sends the page's site.

use std::net::{IpAddr, SocketAddr};

/// Returns whether a page of this site may connect.
/// programs send the latter; no page can, because this server serves none.
pub(super) fn may_connect(origin: &[u8], host: Option<&[u8]>, allowed: &[String]) -> bool {
    let named = |allowed: &String| allowed == "*" || allowed.as_bytes() == origin;
    allowed.iter().any(named) || host.is_some_and(|host| is_own(origin, host))
}

/// Accepts an address or `localhost` only. The owner of another name could point it to this server.
fn is_own(origin: &[u8], host: &[u8]) -> bool {
    let (Ok(origin), Ok(host)) = (std::str::from_utf8(origin), std::str::from_utf8(host)) else {
        return false;
    };
    let site = ["http://", "https://", "ws://", "wss://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    let is_address = host.parse::<SocketAddr>().is_ok()
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || host.split(':').next() == Some("localhost");
    is_address && site == Some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_say_the_servers_own_site_may() {
        let allowed = ["https://lg.example".to_owned()];
        for (origin, host, expected) in [
            ("http://127.0.0.1:8180", "127.0.0.1:8180", true),
            ("http://[::1]:8180", "[::1]:8180", true),
            ("https://192.0.2.1", "192.0.2.1", true),
            ("http://localhost:8180", "localhost:8180", true),
            ("https://lg.example", "127.0.0.1:8180", true),
            ("http://127.0.0.1:80", "127.0.0.1:8180", false),
            ("http://evil.example:8180", "evil.example:8180", false),
            (
                "http://localhost.evil.example",
                "localhost.evil.example",
                false,
            ),
            ("null", "127.0.0.1:8180", false),
        ] {
            let may = may_connect(origin.as_bytes(), Some(host.as_bytes()), &allowed);
            assert_eq!(may, expected, "{origin} to {host}");
        }
        assert!(!may_connect(b"http://127.0.0.1", None, &allowed));
        assert!(may_connect(b"http://x", None, &["*".to_owned()]));
    }
}
