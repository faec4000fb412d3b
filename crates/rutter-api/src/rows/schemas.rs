//! The description of each row as JSON Schema.
//!
//! A test makes it from the rows, so the program needs no crate for it.

/// The schemas of rows (JSON Schema 2020-12): `kinds` has the name of the schema of each `kind` of row, and `schemas` has the
/// schemas with their places in an OpenAPI document.
pub const ROW_SCHEMAS: &str = include_str!("../../../../docs/schema/rows.json");

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::{Map, Value, json};

    use crate::rows::*;

    /// The schemas that the rows have now.
    fn schemas() -> Value {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        let mut generator = settings.into_generator();
        let mut kinds = Map::new();
        macro_rules! rows {
            ($($kind:literal: $row:ty,)*) => {
                $(
                    generator.subschema_for::<$row>();
                    kinds.insert($kind.to_owned(), <$row>::schema_name().into());
                )*
            };
        }
        rows! {
            "status": StatusRow,
            "peer": PeerRow,
            "route": RouteRow,
            "advertised": AdvertisedRow,
            "withheld": WithheldRouteRow,
            "advertised-count": AdvertisedCountRow,
            "rejected": RejectedRow,
            "attribute-set": AttributeSetRow,
            "lookup": LookupRow,
            "memory": MemoryRow,
            "sink": SinkRow,
            "router": RouterRow,
            "source": SourceRow,
            "station": StationRow,
            "explain": ExplainRow,
            "sample": SampleRow,
            "neighbor-sample": NeighborSampleRow,
            "change": ChangeRow,
        }
        let mut schemas = Value::Object(generator.take_definitions(true));
        simplify(&mut schemas);
        json!({"kinds": kinds, "schemas": schemas})
    }

    /// No row has `null`: an absent value is an absent field. Links of comments mean nothing outside the code.
    fn simplify(schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                fields.values_mut().for_each(simplify);
                if let Some(Value::Array(types)) = fields.get_mut("type") {
                    types.retain(|one| one != "null");
                    if let [only] = &types[..] {
                        let only = only.clone();
                        fields.insert("type".into(), only);
                    }
                }
                if let Some(Value::Array(any)) = fields.get_mut("anyOf") {
                    any.retain(|one| one["type"] != "null");
                    if let [Value::Object(only)] = &any[..] {
                        let only = only.clone();
                        fields.remove("anyOf");
                        fields.extend(only);
                    }
                }
                if let Some(Value::String(text)) = fields.get_mut("description") {
                    for link in ["[`super::", "[`crate::", "[`"] {
                        *text = text.replace(link, "`");
                    }
                    *text = text.replace("`]", "`").replace('\n', " ");
                }
            }
            Value::Array(all) => all.iter_mut().for_each(simplify),
            _ => {}
        }
    }

    /// `UPDATE_GOLDEN=1` updates the file.
    #[test]
    fn schemas_are_those_of_the_rows() {
        let text = format!("{:#}\n", schemas());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/rows.json");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let stored = std::fs::read_to_string(file).unwrap();
        assert!(stored == text, "docs/schema/rows.json differs:\n{text}");
    }
}
