/**
 * What the process itself uses, under the names that dashboards know (Prometheus, "Writing client
 * libraries"; nodejs_ as prom-client's own). That library's default metrics are left aside: they
 * watch every collection of garbage, which costs a busy proxy a tenth of its throughput.
 */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, type Registry } from "prom-client";

const LAG_RESOLUTION_MS = 20;

/** Makes gauges in the registry; each reads its value when it is asked for. */
export const gaugeIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => number): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => gauge.set(read()),
    });
  };

/** The same for counters; what is read never decreases. */
export const counterIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => number): void => {
    const counter: Counter = new Counter({
      name,
      help,
      registers: [registry],
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  };

/** Registers the metrics. */
export function collectProcessMetrics(registry: Registry): void {
  counterIn(registry)("process_cpu_seconds_total", "Processor time used, user and system.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  const gauge = gaugeIn(registry);
  const startSeconds = performance.timeOrigin / 1000;
  gauge("process_start_time_seconds", "Start, as epoch seconds.", () => startSeconds);
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  if (process.platform === "linux") {
    gauge("process_open_fds", "Open file descriptors.", () => readdirSync("/proc/self/fd").length);
  }
  gauge(
    "nodejs_heap_size_used_bytes",
    "Memory of JavaScript objects in use.",
    () => process.memoryUsage().heapUsed,
  );
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile since last asked.", () => {
    const seconds = lag.percentile(99) / 1e9;
    lag.reset();
    return seconds;
  });
}
