//! The login of a connection.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::Sink;
use pgwire::api::auth::driver::AuthOutcome;
use pgwire::api::auth::{
    AuthDriver, DefaultServerParameterProvider, LoginInfo, StartupHandler, finish_authentication,
    protocol_negotiation, save_startup_parameters_to_metadata,
};
use pgwire::api::{ClientInfo, PidSecretKeyGenerator as _, RandomPidSecretKeyGenerator};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};

use super::access::Access;
use super::login_throttle::LoginThrottle;
use super::scram::{Scram, Verifier};
use super::session::{Session, fatal};
use crate::application::Application;

/// The state that all logins share.
#[derive(Clone)]
pub struct Logins {
    verifier: Option<Verifier>,
    throttle: LoginThrottle,
}

impl Logins {
    /// The state for these clients.
    pub fn new(access: &Access) -> Self {
        let verifier = match access {
            Access::Open => None,
            Access::Password { user, password } => Some(Verifier::new(user, password)),
        };
        Self {
            verifier,
            throttle: LoginThrottle::default(),
        }
    }
}

/// The login of a connection.
pub struct Login {
    logins: Logins,
    session: Session,
    parameters: DefaultServerParameterProvider,
    driver: AuthDriver<DefaultServerParameterProvider>,
    /// The client has sent its startup message.
    begun: AtomicBool,
}

fn wait_error(opened: Result<(), Duration>) -> PgWireResult<()> {
    opened.map_err(|wait| {
        let seconds = wait.as_secs() + 1;
        fatal(
            "28000",
            format!("wrong passwords have come from your address: try again in {seconds} s"),
        )
    })
}

/// The parameters that a client receives after its login: the same as in `SHOW`.
fn parameters(application: &Application) -> DefaultServerParameterProvider {
    let known = |name| application.setting(name).unwrap_or_default();
    let mut parameters = DefaultServerParameterProvider::default();
    parameters.server_version = known("server_version");
    parameters.default_transaction_read_only = true;
    parameters.is_superuser = false;
    parameters.time_zone = known("timezone");
    parameters.date_style = known("datestyle");
    parameters.interval_style = known("intervalstyle");
    parameters
}

impl Login {
    /// The login of a new connection.
    pub fn new(logins: Logins, session: Session, application: &Application) -> Self {
        Self {
            logins,
            session,
            parameters: parameters(application),
            driver: AuthDriver::new(parameters(application)),
            begun: AtomicBool::new(false),
        }
    }

    /// Returns an error while this address must wait.
    fn check_attempt(&self, client: &impl ClientInfo) -> PgWireResult<()> {
        let address = client.socket_addr().ip();
        wait_error(self.logins.throttle.check(address, Instant::now()))
    }

    /// Handles a message of the login. The first names the user; the following ones prove the password.
    fn check_wait(&self, client: &impl ClientInfo) -> PgWireResult<()> {
        if !self.begun.swap(true, Relaxed) {
            return Ok(());
        }
        let address = client.socket_addr().ip();
        wait_error(self.logins.throttle.attempt(address, Instant::now()))
    }

    /// Records the outcome of a password.
    fn note<T>(&self, client: &impl ClientInfo, result: &PgWireResult<T>) {
        let peer = client.socket_addr();
        match result {
            Ok(_) => {}
            Err(PgWireError::InvalidPassword(user)) => {
                tracing::warn!(%peer, user, "SQL: wrong user or password");
                self.logins.throttle.failed(peer.ip(), Instant::now());
            }
            Err(why) => {
                let login = LoginInfo::from_client_info(client);
                let user = login.user().unwrap_or_default();
                tracing::warn!(%peer, user, %why, "SQL: a login failed");
            }
        }
    }
}

#[async_trait]
impl StartupHandler for Login {
    async fn on_startup<C>(
        &self,
        client: &mut C,
        message: PgWireFrontendMessage,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let Some(verifier) = &self.logins.verifier else {
            let PgWireFrontendMessage::Startup(ref startup) = message else {
                return Ok(());
            };
            self.session.admit()?;
            protocol_negotiation(client, startup).await?;
            save_startup_parameters_to_metadata(client, startup);
            let (number, secret) = RandomPidSecretKeyGenerator::default().generate(client);
            client.set_pid_and_secret_key(number, secret);
            return finish_authentication(client, &self.parameters).await;
        };
        let outcome = match message {
            PgWireFrontendMessage::Startup(ref startup) => {
                protocol_negotiation(client, startup).await?;
                save_startup_parameters_to_metadata(client, startup);
                self.check_attempt(client)?;
                let login = Box::new(Scram::new(verifier.clone()));
                self.driver.begin_authentication(client, login).await
            }
            PgWireFrontendMessage::PasswordMessageFamily(message) => {
                self.check_wait(client)?;
                self.driver.advance_authentication(client, message).await
            }
            _ => return Ok(()),
        };
        self.note(client, &outcome);
        match outcome? {
            AuthOutcome::InProgress => Ok(()),
            AuthOutcome::Authenticated { final_message, .. } => {
                self.logins.throttle.passed(client.socket_addr().ip());
                self.session.admit()?;
                self.driver
                    .complete_authentication(client, final_message)
                    .await
            }
        }
    }
}
