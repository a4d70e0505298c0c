/** Turns a source of pieces into a stream of bytes. */
interface ByteSource {
  /** The next piece; null at the end. If it throws, the stream fails with that error. */
  read(): Promise<Uint8Array | null>;
  /** Releases the source. Called once: at the end, after an error, or when the reader cancels. */
  close(): Promise<void>;
}

/** A stream that reads a piece from its source only when its reader asks for one. */
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
