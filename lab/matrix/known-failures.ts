/**
 * Why a recorded test failed, by the name of its file and its own: the page says it beside the failure. A test fails for
 * each failure that has no word here, and for each word without a failure.
 */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  'unflushed: mysqlInbox, of what is committed and not flushed yet is flushed before a mark whose reply was lost is told as written':
    'The fault of the test: a mark is six messages on MySQL, and it cut the first one instead of the COMMIT.',
}
