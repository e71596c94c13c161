//! One end of the lab: a network namespace with a TUN device in it, in which code and programs can be run.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use rrul_model::flow::AddressFamily;

use crate::error::Error;
use crate::namespace;
use crate::tun::{self, Tun};

type Job = Box<dyn FnOnce() + Send>;

/// A host of the lab.
///
/// Its namespace has no name: it lives as long as this value and the threads and processes in it. Programs started with
/// [`Host::command`] are killed when the host goes, even when it goes by `kill -9`.
#[derive(Debug)]
pub struct Host {
    name: &'static str,
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
    keeper_number: u32,
    /// `None` only while being dropped.
    jobs: Option<Sender<Job>>,
    keeper: Option<JoinHandle<()>>,
}

impl Host {
    /// Makes the namespace, on a thread that stays in it, and the device.
    pub(crate) fn start(name: &'static str, ipv4: Ipv4Addr, ipv6: Ipv6Addr) -> Result<(Self, Tun), Error> {
        let (jobs, todo) = channel::<Job>();
        let (report, reported) = channel();
        let keeper = Builder::new().name(format!("lab-{name}"));
        let keeper =
            keeper.spawn(move || keep(ipv4, ipv6, &report, &todo)).map_err(Error::io("cannot start a thread"))?;
        let (tun, keeper_number) = reported.recv().map_err(|_| Error::Stopped { thread: name })??;
        Ok((Self { name, ipv4, ipv6, keeper_number, jobs: Some(jobs), keeper: Some(keeper) }, tun))
    }

    /// Its address of this family, which the other host reaches over the link.
    pub fn address(&self, family: AddressFamily) -> IpAddr {
        match family {
            AddressFamily::Ipv4 => self.ipv4.into(),
            AddressFamily::Ipv6 => self.ipv6.into(),
        }
    }

    /// Where the namespace can be found by other processes while this host lives; for [`crate::join`].
    pub fn namespace_path(&self) -> PathBuf {
        format!("/proc/{}/task/{}/ns/net", std::process::id(), self.keeper_number).into()
    }

    /// Runs `work` on a fresh thread inside the namespace and returns what it returns; a panic in it goes on here.
    ///
    /// Sockets belong to the namespace of the thread that makes them, wherever they are used later.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        match self.spawn(work)?.join() {
            Ok(result) => Ok(result),
            Err(payload) => panic::resume_unwind(payload),
        }
    }

    /// Starts `work` on a fresh thread inside the namespace. Threads that it starts are inside as well.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Error> {
        let name = format!("lab-{}-work", self.name);
        // A thread is born in the namespace of the thread that starts it, and that must be the keeper.
        let started = self.on_keeper(move || Builder::new().name(name).spawn(work))?;
        started.map_err(Error::io("cannot start a thread"))
    }

    /// Starts a program inside the namespace. It is killed when this host is dropped or its process dies.
    pub fn command(&self, mut command: Command) -> Result<Child, Error> {
        namespace::die_with_spawning_thread(&mut command);
        let what = format!("{} host: cannot start {}", self.name, command.get_program().display());
        self.on_keeper(move || command.spawn())?.map_err(Error::io(what))
    }

    /// Packets that the kernel has dropped between this host and the lab.
    pub(crate) fn missed(&self) -> Result<u64, Error> {
        let text = self.on_keeper(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = text.map_err(Error::io("cannot read /proc/thread-self/net/dev"))?;
        Ok(tun::transmit_drops(&text).unwrap_or(0))
    }

    fn on_keeper<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (answer, answered) = channel();
        let job: Job = Box::new(move || {
            // The receiver is gone only when the asking thread has died, and then the answer is not needed.
            let _ = answer.send(work());
        });
        let stopped = Error::Stopped { thread: self.name };
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { answered.recv().map_err(|_| stopped) } else { Err(stopped) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(keeper) = self.keeper.take() {
            // A keeper that panicked has printed so on stderr; nothing is left to keep.
            let _ = keeper.join();
        }
    }
}

/// The thread that keeps the namespace open and does there what must be done by a thread inside.
fn keep(ipv4: Ipv4Addr, ipv6: Ipv6Addr, report: &Sender<Result<(Tun, u32), Error>>, todo: &Receiver<Job>) {
    let prepared = namespace::enter_new_network().and_then(|()| {
        prepare_namespace();
        Tun::open(ipv4, ipv6)
    });
    let failed = prepared.is_err();
    let sent = report.send(prepared.map(|tun| (tun, namespace::thread_number())));
    if failed || sent.is_err() {
        return;
    }
    for job in todo {
        job();
    }
}

/// Settings of the namespace that make measurements cleaner. Each is welcome, none is needed: a refusal is no error.
fn prepare_namespace() {
    // The net part of /proc/sys is that of the calling thread's namespace.
    let set = |name: &str, value: &str| -> io::Result<()> { fs::write(format!("/proc/sys/net/{name}"), value) };
    // ICMP echo sockets for everyone (icmp(7)); in a user namespace only the one mapped group can be named.
    let _ = set("ipv4/ping_group_range", "0 2147483647").or_else(|_| set("ipv4/ping_group_range", "0 0"));
    // What one connection learned about the path must not change how the next one starts.
    let _ = set("ipv4/tcp_no_metrics_save", "1");
    // No link-local address and no search for routers: only the test sends on the link.
    let _ = set("ipv6/conf/default/addr_gen_mode", "1");
    let _ = set("ipv6/conf/default/accept_ra", "0");
    let _ = set("ipv6/conf/default/router_solicitations", "0");
}
