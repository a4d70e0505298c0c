/**
 * A function that says whether an event is among the first `max` of its second, by the machine's clock.
 * `tellMore` is called at the end of each second that had more events, with their number.
 */
export function perSecond(
  max: number,
  tellMore: (more: number) => void = () => undefined,
): () => boolean {
  let events = 0;
  return () => {
    if (events === 0) {
      setTimeout(() => {
        const more = events - max;
        events = 0;
        if (more > 0) tellMore(more);
      }, 1_000).unref();
    }
    events += 1;
    return events <= max;
  };
}
