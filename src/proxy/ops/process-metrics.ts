/**
 * Metrics of the process under their usual names (Prometheus, "Writing client libraries"; those with
 * nodejs_ as in prom-client). prom-client's own default metrics are not used: they observe every
 * garbage collection, which costs a busy proxy a tenth of its throughput.
 */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, type Registry } from "prom-client";

const LAG_RESOLUTION_MS = 20;

/** Makes gauges in the registry; each reads its value on each scrape. */
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

/** Makes counters in the registry; `read` must never return less than before. */
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
