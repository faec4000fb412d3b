//! Every query of the documentation returns an answer.

use crate::queries::ask;
use crate::table;

#[tokio::test]
async fn queries_of_the_documentation_run() {
    let text = include_str!("../../../../docs/sql.md");
    let database = table::database();
    let mut count = 0;
    for block in text.split("```sql\n").skip(1) {
        let sql = block.split("```").next().unwrap();
        let rows = ask(&database, sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}\n{error}"));
        assert!(!rows.is_empty(), "no rows: {sql}");
        count += 1;
    }
    // The heading states the number of queries.
    assert!(text.contains("\n## Twelve questions\n"));
    assert_eq!(count, 12);
}

#[tokio::test]
async fn the_schema_equals_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/sql.csv");
    let sql = "SELECT table_name, ordinal_position, column_name, data_type, is_nullable \
        FROM information_schema.columns WHERE table_schema = 'public'";
    let now = ask(&table::database(), sql).await.unwrap().join("\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        now, golden,
        "write it anew with UPDATE_GOLDEN=1 if the change is meant"
    );
}
