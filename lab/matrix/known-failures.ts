/**
 * Why a recorded test failed, by the name of its file and its own: the page says it beside the failure. A test fails for
 * each failure that has no word here, and for each word without a failure.
 */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {}
