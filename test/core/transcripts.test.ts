/** The transcripts by the core, without a socket. */
import { startTestCore } from "../http/fixture.ts";
import { runTranscripts } from "../http/transcript-runs.ts";

runTranscripts(startTestCore);
