//! Decides about each call: its rate, and the role of its client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use rutter_config::access::{AccessRules, Role, bearer};
use rutter_server::RequestRate;
use tokio::sync::watch;
use tonic::service::Interceptor;
use tonic::transport::server::TlsConnectInfo;
use tonic::{Request, Status};

use crate::connections::Peer;

/// The rules for calls. Clones share them.
#[derive(Clone)]
pub(crate) struct Admission(Arc<Rules>);

struct Rules {
    access: watch::Sender<AccessRules>,
    rate: RequestRate,
}

/// The client of a call that was admitted.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    role: Role,
    /// The hash of the token or certificate that the rules name, if it has sent one.
    secret: Option<[u8; 32]>,
    /// The rules, which may change while the call lasts.
    access: watch::Receiver<AccessRules>,
    /// Its name in the audit log of the daemon.
    pub(crate) name: String,
    /// Its address.
    pub(crate) address: IpAddr,
}

impl Admission {
    pub(crate) fn new(access: AccessRules, requests_per_second: u32) -> Self {
        Admission(Arc::new(Rules {
            access: watch::Sender::new(access),
            rate: RequestRate::new(requests_per_second),
        }))
    }

    /// Replaces the tokens.
    pub(crate) fn set_access(&self, access: AccessRules) {
        self.0.access.send_replace(access);
    }

    /// Counts a request of this client. Returns false if it makes too many.
    pub(crate) fn allows(&self, client: IpAddr, now: Instant) -> bool {
        self.0.rate.allows(client, now)
    }

    /// The answer to a client that makes too many requests.
    pub(crate) fn too_often() -> Status {
        Status::resource_exhausted(TOO_FAST)
    }

    /// Returns the client with this header and these certificates.
    fn caller(
        &self,
        peer: SocketAddr,
        header: Option<&str>,
        certificates: &[impl AsRef<[u8]>],
    ) -> Result<Caller, Status> {
        let access = self.0.access.borrow();
        let token = match header {
            Some(header) => {
                let token = bearer(header).and_then(|token| access.find(token.as_bytes()));
                Some(token.ok_or_else(|| Status::unauthenticated(NO_SUCH_TOKEN))?)
            }
            // The certificate of the client is the first one.
            None => certificates
                .first()
                .and_then(|one| access.find(one.as_ref())),
        };
        let owner = token.map_or("", |token| token.owner.as_str());
        Ok(Caller {
            role: token.map_or(access.anonymous, |token| token.role.max(access.anonymous)),
            secret: token.map(|token| token.sha256),
            access: self.0.access.subscribe(),
            name: match owner {
                "" => format!("gRPC client {peer}"),
                owner => format!("gRPC client {peer} ({owner})"),
            },
            address: peer.ip(),
        })
    }
}

impl Interceptor for Admission {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let extensions = request.extensions();
        let tls = extensions.get::<TlsConnectInfo<Peer>>();
        let peer = tls.map(|info| info.get_ref()).or(extensions.get::<Peer>());
        let peer = peer.ok_or_else(|| Status::internal("the address of the client is unknown"))?;
        let peer = peer.0;
        if !self.allows(peer.ip(), Instant::now()) {
            return Err(Admission::too_often());
        }
        let certificates = tls.and_then(TlsConnectInfo::peer_certs);
        let certificates = certificates.as_deref().map_or(&[][..], Vec::as_slice);
        let header = request.metadata().get("authorization");
        let header = header.map(|value| value.to_str().unwrap_or_default());
        let caller = self.caller(peer, header, certificates)?;
        request.extensions_mut().insert(caller);
        Ok(request)
    }
}

/// Returns the client of a call that needs this role, or refuses it.
pub(crate) fn permit<T>(request: &Request<T>, needed: Role) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>();
    let caller = caller.ok_or_else(|| Status::internal("the client is unknown"))?;
    match (caller.role >= needed, caller.secret) {
        (true, _) => Ok(caller.clone()),
        (false, Some(_)) => Err(too_low(needed)),
        (false, None) => Err(Status::unauthenticated(NO_TOKEN)),
    }
}

impl Caller {
    /// Waits until changed rules no longer give the client this role, and returns the reason.
    pub(crate) async fn refusal(mut self, needed: Role) -> Status {
        while self.access.changed().await.is_ok() {
            let access = self.access.borrow_and_update();
            let secret = self.secret;
            let token = access.tokens.iter().find(|one| secret == Some(one.sha256));
            match (secret, token) {
                // A token that is gone is refused even if clients without one may call: so is a new call with it.
                (Some(_), None) => return Status::unauthenticated(TOKEN_REMOVED),
                (Some(_), Some(token)) if token.role.max(access.anonymous) < needed => {
                    return too_low(needed);
                }
                (None, _) if access.anonymous < needed => return Status::unauthenticated(NO_TOKEN),
                _ => {}
            }
        }
        Status::unavailable("this server is stopping")
    }
}

fn too_low(needed: Role) -> Status {
    Status::permission_denied(match needed {
        Role::Control => "this method needs the role control",
        _ => "the role of this client does not include this method",
    })
}

const NO_TOKEN: &str = "this method needs a token: send the metadata `authorization: Bearer TOKEN`";
const NO_SUCH_TOKEN: &str =
    "nobody has this token: send `authorization: Bearer TOKEN`, and ask the operator for a token";
const TOKEN_REMOVED: &str =
    "the operator has removed this token: ask for another, and continue after the last number";
const TOO_FAST: &str = "this client asks too often: wait a second";

#[cfg(test)]
mod tests {
    use rutter_config::access::parse_tokens;
    use tonic::Code;

    use super::*;

    /// The SHA-256 of `abc` (FIPS 180-2, appendix B.1) and of the empty string.
    const TOKENS: &str = "\
        monitor ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad # the alarms\n\
        control e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n";

    fn admission(anonymous: Role, rate: u32) -> Admission {
        let tokens = parse_tokens(TOKENS).unwrap();
        Admission::new(AccessRules { anonymous, tokens }, rate)
    }

    fn request(token: Option<&str>) -> Request<()> {
        let mut request = Request::new(());
        let peer = Peer("192.0.2.7:1".parse().unwrap());
        request.extensions_mut().insert(peer);
        if let Some(token) = token {
            let header = format!("Bearer {token}").parse().unwrap();
            request.metadata_mut().insert("authorization", header);
        }
        request
    }

    fn outcome(admission: &Admission, token: Option<&str>, role: Role) -> Result<String, Code> {
        let request = admission.clone().call(request(token));
        let caller = request.and_then(|request| permit(&request, role));
        caller.map(|one| one.name).map_err(|status| status.code())
    }

    #[test]
    fn a_token_permits_the_methods_of_its_role() {
        let rules = admission(Role::Nobody, 1_000);
        let name = outcome(&rules, Some("abc"), Role::Monitor).unwrap();
        assert_eq!(name, "gRPC client 192.0.2.7:1 (the alarms)");
        assert_eq!(
            outcome(&rules, Some("abc"), Role::Read),
            Err(Code::PermissionDenied)
        );
        assert_eq!(
            outcome(&rules, Some("abd"), Role::Monitor),
            Err(Code::Unauthenticated)
        );
        assert_eq!(
            outcome(&rules, None, Role::Monitor),
            Err(Code::Unauthenticated)
        );
        let open = admission(Role::Read, 1_000);
        assert!(outcome(&open, None, Role::Read).is_ok());
        assert_eq!(
            outcome(&open, None, Role::Control),
            Err(Code::Unauthenticated)
        );
        // A token never takes a right away.
        assert!(outcome(&open, Some("abc"), Role::Read).is_ok());
    }

    #[test]
    fn a_certificate_is_as_good_as_a_token() {
        let rules = admission(Role::Nobody, 1);
        let peer = "192.0.2.7:1".parse().unwrap();
        let caller = rules.caller(peer, None, &[b"", &b"abc"[..]]).unwrap();
        assert_eq!(caller.role, Role::Control);
        let caller = rules.caller(peer, None, &[b"other"]).unwrap();
        assert_eq!((caller.role, caller.secret), (Role::Nobody, None));
    }

    /// The code with which a call of the role `monitor` ends when these tokens are in use.
    async fn ends_with(token: Option<&str>, anonymous: Role, tokens: &str) -> Option<Code> {
        let rules = admission(Role::Nobody, 1_000);
        if token.is_none() {
            rules.set_access(AccessRules::open());
        }
        let request = rules.clone().call(request(token)).unwrap();
        let refusal = permit(&request, Role::Monitor).unwrap();
        let refusal = refusal.refusal(Role::Monitor);
        let tokens = parse_tokens(tokens).unwrap();
        rules.set_access(AccessRules { anonymous, tokens });
        // Without a reason the call goes on until the rules are gone.
        drop((rules, request));
        Some(refusal.await.code()).filter(|code| *code != Code::Unavailable)
    }

    #[tokio::test]
    async fn a_call_ends_with_its_token_and_goes_on_with_others() {
        let without = TOKENS.lines().last().unwrap();
        let nobody = Role::Nobody;
        assert_eq!(ends_with(Some("abc"), nobody, TOKENS).await, None);
        let changed = TOKENS.replace("monitor", "read");
        assert_eq!(ends_with(Some("abc"), nobody, &changed).await, None);
        let refused = Some(Code::Unauthenticated);
        assert_eq!(ends_with(Some("abc"), nobody, without).await, refused);
        assert_eq!(ends_with(Some("abc"), Role::Read, without).await, refused);
        assert_eq!(ends_with(None, nobody, TOKENS).await, refused);
        assert_eq!(ends_with(None, Role::Read, without).await, None);
    }

    #[test]
    fn a_client_that_asks_too_often_is_refused() {
        let rules = admission(Role::Read, 1);
        let allowed = (0..100).filter(|_| outcome(&rules, None, Role::Read).is_ok());
        assert!(allowed.count() < 10);
        assert_eq!(
            outcome(&rules, None, Role::Read),
            Err(Code::ResourceExhausted)
        );
    }
}
