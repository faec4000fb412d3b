//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677). The password never crosses the wire, and the messages cannot
//! be replayed.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use pgwire::api::ClientInfo;
use pgwire::api::auth::LoginInfo;
use pgwire::api::auth::mechanism::{AuthMechanism, AuthState};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::startup::{Authentication, PasswordMessageFamily};
use sha2::{Digest as _, Sha256};

/// The name of the method.
const METHOD: &str = "SCRAM-SHA-256";
/// Rounds of hashing: PostgreSQL's default.
const ROUNDS: u32 = 4096;

type Key = [u8; 32];

/// The stored form of a password: enough to verify it, too little to log in with.
#[derive(Clone)]
pub struct Verifier {
    user: String,
    salt: [u8; 16],
    stored_key: Key,
    server_key: Key,
    /// The key of the salts for users that do not exist.
    secret: Key,
}

impl Verifier {
    /// Derives the verifier of a user's password.
    pub fn new(user: &str, password: &str) -> Self {
        let salt: [u8; 16] = rand::random();
        // As clients do, use a string that SASLprep refuses unchanged.
        let prepared = stringprep::saslprep(password);
        let salted = salted(prepared.as_deref().unwrap_or(password).as_bytes(), &salt);
        let client_key = hmac(&salted, &[b"Client Key"]);
        Self {
            user: user.to_owned(),
            salt,
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, &[b"Server Key"]),
            secret: rand::random(),
        }
    }

    /// The salt of a user. It is always the same, so that it does not reveal which users exist.
    fn salt(&self, user: &str) -> [u8; 16] {
        if user == self.user {
            return self.salt;
        }
        let drawn = hmac(&self.secret, &[user.as_bytes()]);
        std::array::from_fn(|at| drawn[at])
    }
}

/// One login.
pub struct Scram {
    verifier: Verifier,
    user: String,
    waits_for: Step,
}

enum Step {
    First,
    /// The signed part of the messages so far, and the nonce.
    Final {
        header: String,
        response: String,
        nonce: String,
    },
    Nothing,
}

impl Scram {
    /// A new login.
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier,
            user: String::new(),
            waits_for: Step::First,
        }
    }

    /// Answers the client's first message.
    fn first(&mut self, message: &str, fresh: &str) -> PgWireResult<String> {
        // Channel binding needs TLS.
        let bare = message
            .strip_prefix("n,")
            .or_else(|| message.strip_prefix("y,"));
        let (_, bare) = bare
            .and_then(|rest| rest.split_once(','))
            .ok_or_else(malformed)?;
        let theirs = value(bare, 'r')
            .filter(|nonce| !nonce.is_empty())
            .ok_or_else(malformed)?;
        let nonce = format!("{theirs}{fresh}");
        let salt = STANDARD.encode(self.verifier.salt(&self.user));
        let answer = format!("r={nonce},s={salt},i={ROUNDS}");
        let header = &message[..message.len() - bare.len()];
        self.waits_for = Step::Final {
            header: STANDARD.encode(header),
            response: format!("{bare},{answer}"),
            nonce,
        };
        Ok(answer)
    }

    /// Verifies the client's last message. Returns the server's proof that it knows the password, too.
    fn last(&mut self, message: &str) -> PgWireResult<String> {
        let step = std::mem::replace(&mut self.waits_for, Step::Nothing);
        let Step::Final {
            header,
            response,
            nonce,
        } = step
        else {
            return Err(malformed());
        };
        let (unsigned, proof) = message.rsplit_once(",p=").ok_or_else(malformed)?;
        let bound = value(unsigned, 'c') == Some(&header) && value(unsigned, 'r') == Some(&nonce);
        let proof = STANDARD
            .decode(proof)
            .ok()
            .and_then(|proof| Key::try_from(proof).ok());
        let proof = proof.filter(|_| bound).ok_or_else(malformed)?;
        let signed = [response.as_bytes(), b",", unsigned.as_bytes()];
        let signature = hmac(&self.verifier.stored_key, &signed);
        let client_key: Key = std::array::from_fn(|at| proof[at] ^ signature[at]);
        let stored: Key = Sha256::digest(client_key).into();
        if !same(&stored, &self.verifier.stored_key) || self.user != self.verifier.user {
            return Err(PgWireError::InvalidPassword(self.user.clone()));
        }
        let proof = hmac(&self.verifier.server_key, &signed);
        Ok(format!("v={}", STANDARD.encode(proof)))
    }
}

#[async_trait]
impl AuthMechanism for Scram {
    async fn begin(&mut self, client: &(dyn ClientInfo + Send + Sync)) -> PgWireResult<AuthState> {
        let login = LoginInfo::from_client_info(client);
        self.user = login.user().unwrap_or_default().to_owned();
        let methods = Authentication::SASL(vec![METHOD.to_owned()]);
        Ok(AuthState::InProgress(methods))
    }

    async fn next(
        &mut self,
        _client: &(dyn ClientInfo + Send + Sync),
        message: PasswordMessageFamily,
    ) -> PgWireResult<AuthState> {
        if matches!(self.waits_for, Step::First) {
            if !is_initial(&message) {
                return Err(malformed());
            }
            let initial = message.into_sasl_initial_response()?;
            if initial.auth_method != METHOD {
                return Err(PgWireError::UnsupportedSASLAuthMethod(initial.auth_method));
            }
            let fresh = STANDARD.encode(rand::random::<[u8; 18]>());
            let response = initial.data.unwrap_or_default();
            let answer = self.first(text(&response)?, &fresh)?;
            return Ok(AuthState::InProgress(Authentication::SASLContinue(
                answer.into(),
            )));
        }
        let response = message.into_sasl_response()?.data;
        let answer = self.last(text(&response)?)?;
        Ok(AuthState::Ok {
            final_message: Some(Authentication::SASLFinal(answer.into())),
            identity: None,
        })
    }
}

/// Returns whether a first message is a name, a length and that many bytes.
fn is_initial(message: &PasswordMessageFamily) -> bool {
    let PasswordMessageFamily::Raw(body) = message else {
        return true;
    };
    let name = body.iter().position(|octet| *octet == 0);
    let rest = name.and_then(|end| body.get(end + 1..));
    let Some((length, data)) = rest.and_then(<[u8]>::split_first_chunk) else {
        return false;
    };
    match i32::from_be_bytes(*length) {
        -1 => data.is_empty(),
        length => usize::try_from(length) == Ok(data.len()),
    }
}

fn text(message: &[u8]) -> PgWireResult<&str> {
    std::str::from_utf8(message).map_err(|_| malformed())
}

fn malformed() -> PgWireError {
    PgWireError::InvalidScramMessage("malformed".to_owned())
}

/// The value of an attribute of a message.
fn value(message: &str, letter: char) -> Option<&str> {
    let parts = message.split(',').filter_map(|part| part.split_once('='));
    let mut values = parts.filter(|(name, _)| name.chars().eq([letter]));
    values.next().map(|(_, value)| value)
}

/// `Hi` of RFC 5802: PBKDF2 with one block.
fn salted(password: &[u8], salt: &[u8]) -> Key {
    let mut round = hmac(password, &[salt, &1u32.to_be_bytes()]);
    let mut all = round;
    for _ in 1..ROUNDS {
        round = hmac(password, &[&round]);
        all.iter_mut()
            .zip(round)
            .for_each(|(all, octet)| *all ^= octet);
    }
    all
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    // Keys of any length are valid.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Key::default();
    };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Compares in constant time.
fn same(a: &Key, b: &Key) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    fn example() -> Scram {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = salted(b"pencil", &salt);
        let client_key = hmac(&salted, &[b"Client Key"]);
        let mut scram = Scram::new(Verifier {
            user: "user".into(),
            salt: salt.try_into().unwrap(),
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, &[b"Server Key"]),
            secret: [0; 32],
        });
        scram.user = "user".into();
        scram
    }

    const FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const FRESH: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    #[test]
    fn the_example_of_the_standard_logs_in() {
        let mut scram = example();
        assert_eq!(
            scram.first(FIRST, FRESH).unwrap(),
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        assert_eq!(
            scram.last(LAST).unwrap(),
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
        assert!(scram.last(LAST).is_err(), "a proof serves once");
    }

    #[test]
    fn wrong_credentials_do_not_log_in() {
        let mut scram = example();
        scram.first(FIRST, "other").unwrap();
        assert!(scram.last(LAST).is_err(), "another nonce");
        let mut scram = example();
        scram.user = "other".into();
        scram.first(FIRST, FRESH).unwrap();
        assert!(matches!(
            scram.last(LAST),
            Err(PgWireError::InvalidPassword(_))
        ));
        for wrong in ["", "n,,", "p=tls-unique,,n=,r=x", "n,,n=,r=", "x"] {
            assert!(example().first(wrong, FRESH).is_err(), "{wrong}");
        }
        for wrong in ["", "c=biws,r=x,p=AAAA", "c=eSws,r=rOprNGfwEbeRWgbNEkqO,p="] {
            let mut scram = example();
            scram.first(FIRST, FRESH).unwrap();
            assert!(scram.last(wrong).is_err(), "{wrong}");
        }
    }
}
