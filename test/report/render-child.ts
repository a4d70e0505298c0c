/** Prints a report. The test runs it in other time zones and languages. */
import { marketOfMany, reportOf } from "./markets.ts";

process.stdout.write(reportOf(marketOfMany(12)));
