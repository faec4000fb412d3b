//! Filter options of `rutter show routes` and `rutter show rejected`.

use clap::{Args, ValueEnum};
use rutter_api::{FamilyFilter, RouteFilter};
use rutter_net::{Asn, Prefix};

/// Conditions on routes.
#[derive(Args, Debug, Default)]
pub(crate) struct FilterArgs {
    /// Routes from this neighbor: name, address or AS number
    #[arg(long, value_name = "PEER")]
    peer: Option<String>,
    /// Routes of this family: ipv4 or ipv6
    #[arg(long, value_name = "FAMILY", hide_possible_values = true)]
    family: Option<FamilyArg>,
    /// Routes to this prefix and to all prefixes inside it
    #[arg(long, value_name = "PREFIX")]
    within: Option<Prefix>,
    /// Routes that this AS originates
    #[arg(long, value_name = "AS")]
    origin_as: Option<Asn>,
    /// Routes with this AS anywhere in the path
    #[arg(long, value_name = "AS")]
    path_as: Option<Asn>,
    /// Routes with this community: 64500:1, 64500:1:2 or a name (no-export, blackhole, graceful-shutdown)
    #[arg(long, value_name = "COMMUNITY")]
    community: Option<String>,
    /// Limit the number of rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// An address family.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum FamilyArg {
    /// IPv4 unicast.
    Ipv4,
    /// IPv6 unicast.
    Ipv6,
}

impl From<FilterArgs> for RouteFilter {
    fn from(args: FilterArgs) -> Self {
        RouteFilter {
            peer: args.peer,
            family: args.family.map(|family| match family {
                FamilyArg::Ipv4 => FamilyFilter::Ipv4,
                FamilyArg::Ipv6 => FamilyFilter::Ipv6,
            }),
            within: args.within,
            origin_as: args.origin_as.map(|asn| asn.0),
            path_as: args.path_as.map(|asn| asn.0),
            community: args.community,
            limit: args.limit,
            ..RouteFilter::default()
        }
    }
}
