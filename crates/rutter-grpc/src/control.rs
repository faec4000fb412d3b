//! The service that changes the daemon.

use std::sync::Arc;

use rutter_api::Line;
use rutter_config::access::Role;
use tonic::{Request, Response, Status};

use crate::admission::permit;
use crate::daemon::{Answer, Daemon};
use crate::messages::{config, required};
use crate::reader::one_row;
use crate::v1;

/// Answers the methods that change the daemon.
pub(crate) struct ControlService {
    /// The daemon on its control socket; `None`: this server only reads.
    daemon: Option<Arc<Daemon>>,
}

impl ControlService {
    pub(crate) fn new(daemon: Option<Arc<Daemon>>) -> Self {
        ControlService { daemon }
    }

    /// Passes on what a client with the role control asks for. `make` checks its message.
    async fn ask<M>(
        &self,
        request: Request<M>,
        make: impl FnOnce(M) -> Result<rutter_api::Request, Status>,
    ) -> Result<Answer, Status> {
        let Some(daemon) = &self.daemon else {
            return Err(Status::permission_denied(
                "this server only reads: start it with --control-socket to change the daemon",
            ));
        };
        let caller = permit(&request, Role::Control)?;
        daemon.ask_for(&caller, make(request.into_inner())?).await
    }
}

/// The result of a request in words.
fn message(answer: &Answer) -> String {
    answer.done.message.clone().unwrap_or_default()
}

fn config_change(answer: Answer) -> Result<Response<v1::ConfigChange>, Status> {
    Ok(Response::new(v1::ConfigChange {
        message: message(&answer),
        diff: Some(one_row!(answer, Diff)?),
    }))
}

#[tonic::async_trait]
impl v1::control_server::Control for ControlService {
    async fn clear_session(
        &self,
        request: Request<v1::ClearSessionRequest>,
    ) -> Result<Response<v1::ClearSessionResponse>, Status> {
        let make = |asked: v1::ClearSessionRequest| {
            let how = match asked.how() {
                v1::ClearHow::Hard => rutter_api::ClearHow::Hard,
                v1::ClearHow::SoftIn => rutter_api::ClearHow::SoftIn,
                v1::ClearHow::SoftOut => rutter_api::ClearHow::SoftOut,
                v1::ClearHow::Unspecified => {
                    return Err(Status::invalid_argument(
                        "how is missing: CLEAR_HOW_HARD, CLEAR_HOW_SOFT_IN or CLEAR_HOW_SOFT_OUT",
                    ));
                }
            };
            let peer = required("peer", asked.peer)?;
            Ok(rutter_api::Request::Clear { peer, how })
        };
        let answer = self.ask(request, make).await?;
        Ok(Response::new(v1::ClearSessionResponse {
            message: message(&answer),
        }))
    }

    async fn reload(
        &self,
        request: Request<v1::ReloadRequest>,
    ) -> Result<Response<v1::ConfigChange>, Status> {
        let make = |_| Ok(rutter_api::Request::Reload);
        config_change(self.ask(request, make).await?)
    }

    async fn diff(
        &self,
        request: Request<v1::DiffRequest>,
    ) -> Result<Response<v1::ConfigDiff>, Status> {
        let make = |asked: v1::DiffRequest| {
            Ok(rutter_api::Request::Diff {
                file: asked.file.map(Into::into),
                routes: None,
            })
        };
        let answer = self.ask(request, make).await?;
        Ok(Response::new(one_row!(answer, Diff)?))
    }

    async fn apply(
        &self,
        request: Request<v1::ApplyRequest>,
    ) -> Result<Response<v1::ConfigChange>, Status> {
        let make = |asked| config::apply_order(asked).map(rutter_api::Request::Apply);
        config_change(self.ask(request, make).await?)
    }

    async fn confirm(
        &self,
        request: Request<v1::ConfirmRequest>,
    ) -> Result<Response<v1::ConfirmResponse>, Status> {
        let make = |_| Ok(rutter_api::Request::Confirm);
        let answer = self.ask(request, make).await?;
        Ok(Response::new(v1::ConfirmResponse {
            message: message(&answer),
        }))
    }

    async fn rollback(
        &self,
        request: Request<v1::RollbackRequest>,
    ) -> Result<Response<v1::ConfigChange>, Status> {
        let make = |asked: v1::RollbackRequest| {
            Ok(rutter_api::Request::Rollback {
                number: asked.number,
            })
        };
        config_change(self.ask(request, make).await?)
    }

    async fn list_history(
        &self,
        request: Request<v1::ListHistoryRequest>,
    ) -> Result<Response<v1::ListHistoryResponse>, Status> {
        let make = |_| Ok(rutter_api::Request::History);
        let answer = self.ask(request, make).await?;
        let configurations = answer.lines.into_iter().filter_map(|line| match line {
            Line::History(row) => Some(row.into()),
            _ => None,
        });
        Ok(Response::new(v1::ListHistoryResponse {
            configurations: configurations.collect(),
        }))
    }

    async fn act_on_source(
        &self,
        request: Request<v1::ActOnSourceRequest>,
    ) -> Result<Response<v1::ActOnSourceResponse>, Status> {
        let make = |asked: v1::ActOnSourceRequest| {
            let action = match asked.action() {
                v1::SourceAction::Refresh => rutter_api::SourceAction::Refresh,
                v1::SourceAction::Accept => rutter_api::SourceAction::Accept,
                v1::SourceAction::Unspecified => {
                    return Err(Status::invalid_argument(
                        "action is missing: SOURCE_ACTION_REFRESH or SOURCE_ACTION_ACCEPT",
                    ));
                }
            };
            let name = required("name", asked.name)?;
            Ok(rutter_api::Request::Source { name, action })
        };
        let answer = self.ask(request, make).await?;
        Ok(Response::new(v1::ActOnSourceResponse {
            message: message(&answer),
        }))
    }
}
