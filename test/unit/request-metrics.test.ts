import { Registry } from "@prometheus-io/client";
import { expect, test } from "vitest";
import { RequestMetrics } from "../../src/hosts/node/metrics.ts";

/** The numbers of the text's samples by metric and labels. */
const samplesOf = (text: string): Map<string, number> =>
  new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );

test("requests are counted one by one, durations by route and class of status", async () => {
  const registry = new Registry();
  const requests = new RequestMetrics(registry);
  // A duration on a bound belongs to the bucket below it.
  requests.observe("/prices", "pro", 200, 0.5);
  requests.observe("/prices", "pro", 200, 0.501);
  requests.observe("/prices", "free", 200, 30);
  requests.observe("/prices", "free", 206, 6_000);
  requests.observe("/prices", "free", 429, 2);
  requests.observe("/index", "pro", 200, 2);

  const all = samplesOf(`${await registry.metrics()}\n${requests.histogram()}`);
  expect(new Map([...all].filter(([sample]) => sample.startsWith("chipboard_requests")))).toEqual(
    new Map([
      ['chipboard_requests_total{route="/prices",status="200",tier="pro"}', 2],
      ['chipboard_requests_total{route="/prices",status="200",tier="free"}', 1],
      ['chipboard_requests_total{route="/prices",status="206",tier="free"}', 1],
      ['chipboard_requests_total{route="/prices",status="429",tier="free"}', 1],
      ['chipboard_requests_total{route="/index",status="200",tier="pro"}', 1],
    ]),
  );

  const histogram = new Map([...all].filter(([sample]) => sample.includes("_duration_")));
  const name = "chipboard_request_duration_seconds";
  const of = (route: string, statusClass: string) => ({
    buckets: Object.fromEntries(
      [...histogram].flatMap(([key, value]) => {
        const end = `",route="${route}",status_class="${statusClass}"}`;
        return key.startsWith(`${name}_bucket`) && key.endsWith(end)
          ? [[key.slice(`${name}_bucket{le="`.length, -end.length), value]]
          : [];
      }),
    ),
    sum: histogram.get(`${name}_sum{route="${route}",status_class="${statusClass}"}`),
    count: histogram.get(`${name}_count{route="${route}",status_class="${statusClass}"}`),
  });
  const answered = of("/prices", "2xx");
  expect(answered.buckets).toMatchObject({ "0.0005": 1, "0.001": 2, "0.025": 2, "0.05": 3 });
  expect(answered.buckets).toMatchObject({ "5": 3, "+Inf": 4 });
  expect(answered.sum).toBeCloseTo(6.031001, 9);
  expect(answered.count).toBe(4);
  expect(of("/prices", "4xx")).toMatchObject({ buckets: { "0.001": 0, "0.0025": 1 }, count: 1 });
  expect(of("/index", "2xx").count).toBe(1);
  expect(histogram.size).toBe(3 * 16);
});
