/** The transcripts by the Worker, in workerd. */
import { runTranscripts } from "../http/transcript-runs.ts";
import { startTestEdge } from "./edge-service.ts";

runTranscripts(startTestEdge);
