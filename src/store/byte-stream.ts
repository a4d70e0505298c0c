/** Where a stream's bytes come from. */
interface ByteSource {
  /** The next piece, or null at the end. What it throws is the stream's error. */
  read(): Promise<Uint8Array | null>;
  /** Lets go of the source: called once, at the end, on an error, or when the reader gives up. */
  close(): Promise<void>;
}

/** A stream that asks its source for one piece at a time, no earlier than the reader does. */
export function byteStream(source: ByteSource): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await source.read();
          if (piece !== null) return controller.enqueue(piece);
        } catch (error) {
          await source.close();
          throw error;
        }
        await source.close();
        controller.close();
      },
      cancel: () => source.close(),
    },
    { highWaterMark: 0 },
  );
}
