//! One account of the link's bytes, drawn up from the packets that were counted.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::link_layer::LinkLayer;
use rrul_model::time::Window;
use rrul_model::units::ByteCount;

use crate::metrics::octets::octet_account::{Account, Acknowledgements, Estimate};
use crate::metrics::octets::traffic::{Basis, LoadStream, Packets, Part, Traffic, growth};
use crate::metrics::tcp::ack_thinning::{Acknowledged, acknowledged};

/// What one account is drawn from.
pub(crate) struct Ledger<'a> {
    pub(crate) traffic: &'a Traffic<'a>,
    pub(crate) layer: Option<&'a LinkLayer>,
    pub(crate) direction: Direction,
    /// Only this one; `None` for both.
    pub(crate) family: Option<AddressFamily>,
    pub(crate) window: Window,
}

impl<'a> Ledger<'a> {
    fn takes(&self, family: AddressFamily) -> bool {
        self.family.is_none_or(|only| only == family)
    }

    fn packets(&self, of: &'a [Packets]) -> impl Iterator<Item = &'a Packets> {
        of.iter().filter(|packets| packets.direction == self.direction && self.takes(packets.family))
    }

    fn streams(&self, direction: Direction) -> impl Iterator<Item = &'a LoadStream<'a>> {
        self.traffic.streams.iter().filter(move |stream| stream.direction == direction && self.takes(stream.family))
    }

    pub(crate) fn account(&self) -> Account {
        let window = self.window;
        let mut account = Account::default();
        let (mut carried, mut estimated, mut count, mut on_link) = (0.0, 0.0, 0.0, 0.0);
        let mut parts: Vec<(Part, f64)> = Vec::new();
        for packets in self.packets(&self.traffic.carried) {
            let octets = packets.octets_in(window);
            carried += octets;
            count += packets.count_in(window);
            on_link += self.link_layer_octets(packets);
            if packets.basis == Basis::Estimated {
                estimated += octets;
            }
            match parts.iter_mut().find(|(part, _)| *part == packets.part) {
                Some((_, sum)) => *sum += octets,
                None => parts.push((packets.part, octets)),
            }
        }
        for (part, octets) in parts {
            *account.parts_octets.part_mut(part) = whole(octets);
        }
        let offered: f64 = self.packets(&self.traffic.offered).map(|packets| packets.octets_in(window)).sum();
        let goodput: f64 = self.streams(self.direction).map(|stream| growth(&stream.goodput, window)).sum();
        let per = |octets: u64| ByteCount(octets).per(window.length()).0;
        account.goodput_octets = whole(goodput);
        account.goodput_bps = per(account.goodput_octets);
        account.carried_octets = whole(carried);
        account.carried_bps = per(account.carried_octets);
        account.carried_packets = whole(count);
        account.estimated_octets = whole(estimated);
        account.offered_octets = whole(offered);
        account.link_layer_octets = self.layer.map(|_| whole(on_link));
        account.link_layer_bps = account.link_layer_octets.map(per);
        let acknowledgements = account.parts_octets.load_acknowledgements as f64;
        account.acknowledgement_share = (account.carried_octets > 0).then(|| (acknowledgements / carried).min(1.0));
        self.retransmissions(&mut account);
        account.acknowledgements = self.acknowledgements();
        account.estimate_octets = self.estimate();
        account
    }

    /// Bytes of these packets on the link layer. Their lengths are known as a mean: they are taken to be the whole
    /// numbers next to it.
    fn link_layer_octets(&self, packets: &Packets) -> f64 {
        let (Some(layer), count) = (self.layer, packets.count_in(self.window)) else { return 0.0 };
        if count <= 0.0 {
            return 0.0;
        }
        let mean = packets.octets_in(self.window) / count;
        let (shorter, longer) = (mean.floor() as u64, mean.ceil() as u64);
        let of = |length: u64| layer.octets(packets.family, length) as f64;
        count * (of(shorter) + (of(longer) - of(shorter)) * mean.fract())
    }

    fn retransmissions(&self, account: &mut Account) {
        let (mut sent, mut again, mut known) = (0.0, 0.0, false);
        for (all, repeated) in self.streams(self.direction).filter_map(|stream| stream.sent.as_ref()) {
            sent += growth(all, self.window);
            again += growth(repeated, self.window);
            known = true;
        }
        if known {
            account.retransmitted_octets = Some(whole(again));
            account.retransmitted_share = (sent > 0.0).then(|| (again / sent).min(1.0));
        }
        let payload = self
            .streams(self.direction)
            .map(|stream| Some(growth(stream.payload.as_ref()?, self.window) - growth(&stream.goodput, self.window)));
        let duplicates: Option<Vec<f64>> = payload.collect();
        account.duplicate_octets =
            duplicates.filter(|streams| !streams.is_empty()).map(|streams| whole(streams.iter().sum()));
    }

    fn acknowledgements(&self) -> Option<Acknowledgements> {
        let mut sum: Option<Acknowledged> = None;
        for stream in self.streams(self.direction) {
            let [receiver, sender] = &stream.readings;
            if let Some(found) = acknowledged(receiver, sender, self.window) {
                *sum.get_or_insert_default() += found;
            }
        }
        let Acknowledged { segments, sent, received } = sum?;
        Some(Acknowledgements {
            sent: whole(sent),
            received: whole(received),
            thinning: (sent > 0.0).then(|| (1.0 - received / sent).max(0.0)),
            per_data_segment: (segments > 0.0).then(|| sent / segments),
        })
    }

    fn estimate(&self) -> Estimate {
        let of = |direction, index: usize| {
            whole(self.streams(direction).map(|stream| stream.estimate[index].octets_in(self.window)).sum())
        };
        Estimate { load_data: of(self.direction, 0), load_acknowledgements: of(self.direction.opposite(), 1) }
    }
}

fn whole(octets: f64) -> u64 {
    octets.max(0.0).round() as u64
}
