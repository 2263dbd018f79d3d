import { auditOfAll, type AuditSource } from '../../../src/people/audits.ts'
import type { AuditAnswer } from '../../api.ts'
import { apiErrorOf, badRequest } from '../http-error.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'
import { auditRow } from './message.ts'

const PAGE = 50
const LARGEST_PAGE = 500
/** Milliseconds since 1970, up to the last date of JavaScript. */
const ANY_TIME = { least: 0, most: 8.64e15 }

export async function audit(services: Services, { params }: Asked): Promise<AuditAnswer> {
  const [since, until] = [params.maybeWhole('since', ANY_TIME), params.maybeWhole('until', ANY_TIME)]
  if (since !== undefined && until !== undefined && since >= until) {
    throw badRequest('since: expected a time before `until`, got a later one')
  }
  const asked = sourcesIn(services, params)
  const sources = asked.map((source): AuditSource => {
    return { consumer: source.consumer, audit: (query) => services.asking(() => source.audit(query)) }
  })
  const { entries, next, failed } = await auditOfAll(sources, {
    key: params.maybeText('key'),
    by: params.maybeText('by'),
    decision: params.maybeText('decision'),
    since,
    until,
    limit: params.maybeWhole('limit', { least: 1, most: LARGEST_PAGE }) ?? PAGE,
    after: params.maybeText('after'),
  })
  const [first] = failed
  if (first !== undefined && failed.length === sources.length) throw first.error
  return {
    entries: entries.map((entry) => ({ ...auditRow(entry), consumer: entry.source.consumer })),
    next,
    failed: failed.map(({ source: { consumer }, error }) => ({ consumer, error: apiErrorOf(error) })),
  }
}

/** @throws HttpError 400 */
function sourcesIn({ consumers }: Services, params: Params): readonly AuditSource[] {
  if (params.maybeText('consumer') === undefined) return consumers.all.flatMap(({ audit: source }) => source ?? [])
  const { id, audit: source } = consumers.of(params)
  if (source === undefined) throw badRequest(`${id}: its store keeps no audit`)
  return [source]
}
