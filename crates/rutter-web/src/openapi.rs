//! The description of the REST interface (OpenAPI 3.1).

use std::sync::LazyLock;

use rutter_api::ROW_SCHEMAS;
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, Parameter, Place};
use crate::endpoints::ENDPOINTS;
use crate::{event_stream, history};

/// The path of the description.
pub(crate) const PATH: &str = "/api/v1/openapi.json";

/// The description as JSON.
pub(crate) static DOCUMENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| document().to_string().into_bytes());

/// Describes all paths.
fn document() -> Value {
    let mut rows: Value = serde_json::from_str(ROW_SCHEMAS).expect("a test makes the schemas");
    let mut schemas = rows["schemas"].take();
    schemas["Problem"] = problem();
    let kinds = &rows["kinds"];
    let mut paths: serde_json::Map<String, Value> = ENDPOINTS
        .iter()
        .map(|endpoint| {
            (
                endpoint.path.to_owned(),
                json!({"get": operation(endpoint, kinds)}),
            )
        })
        .collect();
    paths.insert(event_stream::PATH.to_owned(), json!({"get": events(kinds)}));
    paths.insert(history::PATH.to_owned(), json!({"get": samples(kinds)}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Rutter",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Reads the table, the sessions and the sources of a Rutter daemon. Rows are those of `rutter --json`.",
        },
        "paths": paths,
        // Without tokens in the configuration, everybody may read.
        "security": [{}, {"bearer": []}, {"basic": []}],
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A token of `[web] token-file`."},
                "basic": {"type": "http", "scheme": "basic", "description": "Any user, and the token as the password."},
            },
        },
    })
}

/// Describes the history.
fn samples(kinds: &Value) -> Value {
    json!({
        "operationId": "history",
        "summary": "Routes and updates of the last 24 hours: a sample a minute, or one in five minutes of a neighbor. Times \
                    without a sample are gaps.",
        "parameters": parameters(history::PARAMETERS),
        "responses": {
            "200": {
                "description": "All samples, the oldest first.",
                "content": {"application/json": {"schema": page(&history::ROWS, kinds)}},
            },
            "default": error(),
        },
    })
}

/// Describes the stream of changes.
fn events(kinds: &Value) -> Value {
    let data = kinds["change"].as_str().unwrap_or_default();
    json!({
        "operationId": "events",
        "summary": "The changes of routes, verdicts, best routes and sessions as they happen, as server-sent events.",
        "parameters": parameters(event_stream::PARAMETERS),
        "responses": {
            "200": {
                "description": format!("Events without an end. The data of each is a JSON object with the same kind: #/components/schemas/{data}."),
                "content": {event_stream::KIND: {"schema": {"type": "string"}}},
            },
            "default": error(),
        },
    })
}

fn error() -> Value {
    json!({
        "description": "An error (RFC 9457).",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    })
}

fn parameters(parameters: &[Parameter]) -> Vec<Value> {
    parameters
        .iter()
        .map(|one| {
            let place = match one.place {
                Place::Path => "path",
                Place::Query => "query",
            };
            json!({
                "name": one.name,
                "in": place,
                "required": one.place == Place::Path,
                "description": one.about,
                "schema": {"type": one.kind},
            })
        })
        .collect()
}

fn operation(endpoint: &Endpoint, kinds: &Value) -> Value {
    let name = endpoint.path.trim_start_matches("/api/v1/");
    json!({
        "operationId": name.replace(['/', '{', '}'], " ").trim().replace("  ", "-").replace(' ', "-"),
        "summary": endpoint.summary,
        "parameters": parameters(endpoint.parameters),
        "responses": {
            "200": {
                "description": "A page of rows.",
                "content": {"application/json": {"schema": page(&[endpoint.row], kinds)}},
            },
            "default": error(),
        },
    })
}

/// Describes a page with rows of these kinds.
fn page(rows: &[&str], kinds: &Value) -> Value {
    let row = |kind: &&str| {
        let name = kinds[*kind].as_str().expect("each row has a schema");
        json!({
            "$ref": format!("#/components/schemas/{name}"),
            "required": ["kind"],
            "properties": {"kind": {"const": kind}},
        })
    };
    let mut rows: Vec<Value> = rows.iter().map(row).collect();
    let items = match rows.len() {
        1 => rows.remove(0),
        _ => json!({"oneOf": rows}),
    };
    json!({
        "type": "object",
        "required": ["rows", "truncated"],
        "additionalProperties": false,
        "properties": {
            "rows": {"type": "array", "items": items},
            "truncated": {"type": "boolean", "description": "More rows exist."},
            "next": {"type": "string", "description": "The value of `after` for the next page."},
        },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["title", "status", "detail"],
        "properties": {
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What happened, and what to do."},
        },
    })
}
