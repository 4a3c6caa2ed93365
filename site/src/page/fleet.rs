//! The hosts that run the jobs of a server, with their devices and jobs, and the length of the queue.

use super::frame::Page;
use crate::{Route, Site};
use hipward_protocol::{Fleet, FleetDevice, FleetHost, HostState};
use leptos::prelude::*;

/// `fleet` is None for a reader who may not see the jobs of others.
pub(super) fn page(site: &Site, fleet: Option<&Fleet>) -> Page {
    let main = view! {
        <h1>"Fleet"</h1>
        <p class="lead">
            "The hosts that run the jobs of this server. " <a href=site.href(&Route::Jobs)>"Jobs"</a>
        </p>
        {match fleet {
            None => no_access(),
            Some(fleet) => hosts(site, fleet),
        }}
    };
    Page {
        title: "Fleet".to_owned(),
        description: "The hosts of this server, their devices, and what runs on them.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

fn no_access() -> AnyView {
    view! {
        <p>
            "Only users of this server see its hosts. Open the address that "
            <code>"hipward serve"</code>
            " printed, or use a token with the role "
            <code>"read"</code>
            "."
        </p>
    }
    .into_any()
}

fn hosts(site: &Site, fleet: &Fleet) -> AnyView {
    let maintenance = fleet.maintenance.as_ref().map(|reason| {
        let reason = match reason.is_empty() {
            true => String::new(),
            false => format!(" Reason: {reason}"),
        };
        view! {
            <p class="report-note">
                {format!("Maintenance: no host starts a job, and submitted jobs wait.{reason}")}
            </p>
        }
    });
    let hosts: Vec<AnyView> = fleet.hosts.iter().map(|host| article(site, host)).collect();
    let empty = hosts.is_empty().then(|| {
        view! {
            <p>
                "No host runs jobs. On a host with a GPU run "
                <code>"hipward worker --join URL --token-file FILE"</code> "."
            </p>
        }
    });
    view! {
        {maintenance}
        <dl class="facts">
            <div><dt>"Queued"</dt><dd>{fleet.queued}</dd></div>
            <div><dt>"Running"</dt><dd>{fleet.running}</dd></div>
            <div><dt>"Waiting for approval"</dt><dd>{fleet.awaiting_approval}</dd></div>
        </dl>
        {empty}
        {hosts}
    }
    .into_any()
}

fn article(site: &Site, host: &FleetHost) -> AnyView {
    let id = format!("host-{}", host.name);
    let (state, what) = match host.state {
        HostState::Ready => ("Ready", String::new()),
        HostState::Draining => (
            "Draining",
            "Running jobs end, and the host starts no others.".to_owned(),
        ),
        HostState::Silent => ("Silent", "It has not reported for a minute.".to_owned()),
    };
    let what = match host.drain_reason.as_ref().filter(|text| !text.is_empty()) {
        Some(reason) => format!("{what} Reason: {reason}"),
        None => what,
    };
    let contact = match host.last_contact_s {
        None => "this server".to_owned(),
        Some(seconds) => format!("{} ago", duration(seconds)),
    };
    let fact = |name: &'static str, value: Option<String>| {
        value.map(|value| view! { <div><dt>{name}</dt><dd>{value}</dd></div> })
    };
    let labels = (!host.labels.is_empty()).then(|| host.labels.join(", "));
    let rows: Vec<AnyView> = host
        .devices
        .iter()
        .map(|device| row(site, &host.name, device))
        .collect();
    view! {
        <article aria-labelledby=id.clone()>
            <h2 id=id.clone()>{host.name.clone()} " " <span class="badge" data-state=state>{state}</span></h2>
            {(!what.is_empty()).then(|| view! { <p class="hint">{what}</p> })}
            <dl class="facts">
                {fact("Last contact", Some(contact))}
                {fact("Labels", labels)}
                {fact("PyTorch", host.torch.clone())}
                {fact("ROCm", host.rocm.clone())}
                {fact("Hipward", host.version.clone())}
            </dl>
            <div class="scroll">
                <table class="jobs">
                    <thead>
                        <tr>
                            <th scope="col">"Device"</th>
                            <th scope="col">"Name"</th>
                            <th scope="col">"Architecture"</th>
                            <th scope="col">"Memory"</th>
                            <th scope="col">"Job"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </article>
    }
    .into_any()
}

fn row(site: &Site, host: &str, fleet_device: &FleetDevice) -> AnyView {
    let device = &fleet_device.device;
    let id = device.id.strip_prefix(host);
    let id = id.and_then(|id| id.strip_prefix('/')).unwrap_or(&device.id);
    let job = match &fleet_device.job {
        None => "idle".into_any(),
        Some(job) => {
            let title = job.title.clone().unwrap_or_else(|| "Benchmark".to_owned());
            let owner = job.owner.as_ref().map(|owner| format!(" of {owner}"));
            view! {
                <a href=site.href(&Route::Job(job.id.clone()))>{title}</a>
                {owner}
                {format!(", for {}", duration(job.runs_s))}
            }
            .into_any()
        }
    };
    view! {
        <tr>
            <td><code>{id.to_owned()}</code></td>
            <td>{device.name.clone()}</td>
            <td><code>{device.arch.clone()}</code></td>
            <td class="number">{format!("{} GiB", device.memory_bytes >> 30)}</td>
            <td>{job}</td>
        </tr>
    }
    .into_any()
}

/// A time for a reader: `12 s`, `5 min`, `3 h`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
