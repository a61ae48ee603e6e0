use proptest::prelude::*;
use tokio::time::sleep;

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

async fn admit(table: &Arc<ConnectionTable>, from: &str) -> ConnectionPlace {
    table.admit(address(from), false).await.expect("there is room")
}

/// Returns the numbers of the places that were ended since the last call.
fn ended(places: &mut [ConnectionPlace]) -> Vec<usize> {
    let is_ended = |place: &mut ConnectionPlace| place.ended.try_recv().is_ok();
    let ended = places.iter_mut().enumerate().filter_map(|(n, place)| is_ended(place).then_some(n));
    ended.collect()
}

#[tokio::test(start_paused = true)]
async fn the_idlest_connection_of_the_largest_network_makes_room() {
    let table = ConnectionTable::new(10, 0);
    let mut places = Vec::new();
    for from in [
        "2001:db8:1::1", // a /48 of five, a /56 of three, a /64 of two
        "2001:db8:1:100::1",
        "2001:db8:1:101::1",
        "2001:db8:1:101::2",
        "2001:db8:1:200::1",
        "192.0.2.1", // a /24 of three addresses
        "192.0.2.2",
        "192.0.2.3",
    ] {
        places.push(admit(&table, from).await);
        sleep(Duration::from_millis(1)).await;
    }
    assert!(ended(&mut places).is_empty(), "80 % are open");
    let expected = [
        ("198.51.100.1", 2, "the /64 of two"),
        ("198.51.100.1", 1, "of equal networks the one that has been so for longest"),
        ("198.51.100.1", 5, "192.0.2.0/24 and the /48 have three"),
    ];
    for (from, victim, rule) in expected {
        places.push(admit(&table, from).await);
        assert_eq!(ended(&mut places), [victim], "{rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_makes_a_connection_the_last_of_its_source() {
    let table = ConnectionTable::new(10, 0);
    let mut places = Vec::new();
    for _ in 0..8 {
        places.push(admit(&table, "192.0.2.1").await);
        sleep(Duration::from_millis(1)).await;
    }
    for place in &places[..3] {
        place.activity.receive();
        place.activity.begin_decision();
    }
    assert!(!places[0].activity.begin_answer());
    places[0].activity.await_bytes();
    places.push(admit(&table, "198.51.100.1").await);
    assert_eq!(ended(&mut places), [3], "0 was answered just now, 1 and 2 are being decided");
    places[1].activity.await_bytes();
    for victim in [4, 5, 6, 7] {
        places.push(admit(&table, "198.51.100.1").await);
        assert_eq!(ended(&mut places), [victim]);
        drop(places.pop());
        places.push(admit(&table, "192.0.2.1").await);
        places.last().expect("it was added").activity.begin_decision();
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_drip_bodies_make_room_too() {
    let table = ConnectionTable::new(100, 0);
    let mut places = Vec::new();
    for _ in 0..80 {
        let place = admit(&table, "192.0.2.1").await;
        place.activity.begin_decision();
        place.activity.await_bytes();
        places.push(place);
    }
    for n in 0..30 {
        // Each sends a byte before the next connection comes.
        for place in &places {
            sleep(Duration::from_millis(1)).await;
            place.activity.receive();
            place.activity.await_bytes();
        }
        let visitor = admit(&table, &format!("198.51.{n}.1")).await;
        assert_eq!(ended(&mut places).len(), 1, "{n}");
        drop(visitor);
        places.push(admit(&table, "192.0.2.1").await);
        places.retain_mut(|place| place.ended.try_recv().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_tenth_is_kept_for_sources_with_few_connections() {
    let table = ConnectionTable::new(100, 60);
    let mut busy = Vec::new();
    for number in 0..90 {
        let place = admit(&table, if number < 60 { "192.0.2.1" } else { "192.0.3.1" }).await;
        place.activity.begin_decision();
        busy.push(place);
    }
    for many in ["192.0.2.1", "192.0.3.1", "192.0.2.9"] {
        assert!(table.admit(address(many), false).await.is_none(), "{many}");
    }
    for number in 0..10 {
        let place = admit(&table, &format!("198.51.{number}.1")).await;
        place.activity.begin_decision();
        busy.push(place);
    }
    assert!(ended(&mut busy).is_empty(), "all of them are at work");
    let waiting = tokio::spawn({
        let table = Arc::clone(&table);
        async move { table.admit(address("203.0.113.1"), false).await.is_some() }
    });
    sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished(), "there is no place");
    busy[7].activity.await_bytes();
    assert!(waiting.await.expect("no panic"));
    assert_eq!(ended(&mut busy), [7], "its body is awaited");
}

#[tokio::test(start_paused = true)]
async fn a_crowded_server_waits_five_seconds_for_a_head_and_two_between_requests() {
    let table = ConnectionTable::new(10, 0);
    let watched = Arc::clone(&table);
    let watch = tokio::spawn(async move { watched.end_overdue().await });
    let mut places = Vec::new();
    for number in 0..9 {
        places.push(admit(&table, &format!("192.0.{number}.1")).await);
    }
    // The ninth connection ended one; eight are still more than a server at rest has.
    assert_eq!(ended(&mut places), [0]);
    places[1].activity.begin_decision();
    places[2].activity.begin_decision();
    assert!(!places[2].activity.begin_answer());
    places[2].activity.await_bytes();
    sleep(Duration::from_millis(1_900)).await;
    assert!(ended(&mut places).is_empty());
    sleep(Duration::from_millis(300)).await;
    assert_eq!(ended(&mut places), [2], "it was idle for two seconds");
    places.push(admit(&table, "198.51.100.1").await);
    places.push(admit(&table, "198.51.100.1").await);
    let before = ended(&mut places).len();
    sleep(Duration::from_secs(3)).await;
    assert!(before + ended(&mut places).len() >= 2, "five seconds have passed");
    assert!(places[1].ended.try_recv().is_err(), "it is being decided");
    watch.abort();
}

#[tokio::test]
async fn a_proxy_has_any_number_and_none_of_them_is_ended() {
    let table = ConnectionTable::new(10, 2);
    let mut places = Vec::new();
    for _ in 0..10 {
        places.push(table.admit(address("10.0.0.1"), true).await.expect("there is room"));
    }
    assert!(ended(&mut places).is_empty());
    places.pop();
    assert!(table.admit(address("10.0.0.1"), true).await.is_some());
}

#[tokio::test]
async fn a_source_has_its_maximum() {
    let table = ConnectionTable::new(100, 2);
    let first = admit(&table, "2001:db8::1").await;
    let _second = admit(&table, "2001:db8::2").await;
    assert!(table.admit(address("2001:db8::3"), false).await.is_none());
    let _other = admit(&table, "2001:db8:0:1::1").await;
    drop(first);
    let _third = admit(&table, "2001:db8::3").await;
}

proptest! {
    #[test]
    fn the_orders_hold_the_open_connections(
        steps in prop::collection::vec((0_u8..4, any::<prop::sample::Index>(), 0_u8..6), 0..80)
    ) {
        let table = ConnectionTable::new(20, 5);
        let mut places: Vec<(ConnectionPlace, IpAddr)> = Vec::new();
        for (step, index, network) in steps {
            let from = address(&format!("192.0.{}.{}", network / 3, network % 3));
            match step {
                0 | 1 => {
                    let networks: Vec<IpNet> = SourceNetworks::around(from).widest_first().collect();
                    let admission = table.try_admit(&networks);
                    if let Admission::Admitted(place) = admission {
                        places.push((place, from));
                    }
                }
                2 if !places.is_empty() => drop(places.swap_remove(index.index(places.len()))),
                _ if !places.is_empty() => {
                    let activity = &places[index.index(places.len())].0.activity;
                    activity.begin_decision();
                    activity.begin_answer();
                    activity.await_bytes();
                }
                _ => {}
            }
            places.retain_mut(|(place, _)| place.ended.try_recv().is_err());
            let open = table.open.lock();
            prop_assert_eq!(open.by_id.len(), places.len());
            prop_assert_eq!(open.by_look.len(), places.len());
            let mut sizes: BTreeMap<IpNet, usize> = BTreeMap::new();
            for network in places.iter().flat_map(|(_, from)| SourceNetworks::around(*from).widest_first()) {
                *sizes.entry(network).or_default() += 1;
            }
            let counted = open.networks.iter().map(|(network, entry)| (*network, entry.size));
            prop_assert_eq!(counted.collect::<BTreeMap<_, _>>(), sizes);
            let roots: usize = open.roots.iter().map(|(size, _, _)| size).sum();
            prop_assert_eq!(roots, places.len());
            for entry in open.networks.values() {
                let parts: usize = entry.parts.iter().map(|(size, _, _)| size).sum();
                prop_assert_eq!(parts + entry.by_since.len(), entry.size);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_exempt_connection_leaves_its_place_to_others_of_its_source() {
    let table = ConnectionTable::new(10, 2);
    let mut places = Vec::new();
    for _ in 0..2 {
        places.push(admit(&table, "192.0.2.1").await);
        sleep(Duration::from_millis(1)).await;
    }
    assert!(table.admit(address("192.0.2.1"), false).await.is_none());
    let exemption = places[0].exemption();
    exemption.exempt();
    exemption.exempt();
    places.push(admit(&table, "192.0.2.1").await);
    assert!(table.admit(address("192.0.2.1"), false).await.is_none(), "one place was left");
    for number in 0..6 {
        places.push(admit(&table, &format!("198.51.{number}.1")).await);
    }
    assert_eq!(ended(&mut places), [1], "the exempt one has waited longer");
    drop(places);
    exemption.exempt();
    let open = table.open.lock();
    assert!(open.by_id.is_empty() && open.networks.is_empty() && open.by_look.is_empty());
}
