//! `[collector]`.

use super::Root;
use crate::config::Collector;
use crate::item::Item;
use crate::schema;

pub(super) fn collector(root: &Root<'_>) -> Collector {
    root.section("collector", &[schema::COLLECTOR], |section| {
        let mut collector = Collector::default();
        section.set("name", &mut collector.name, |i: &Item<'_>| {
            i.text().map(Some)
        });
        collector
    })
}
