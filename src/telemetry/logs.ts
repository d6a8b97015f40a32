import { ROOT_CONTEXT } from '@opentelemetry/api'
import { type Logger, SeverityNumber } from '@opentelemetry/api-logs'
import type { Follower } from '../audit/sink.js'
import type { Entry } from '../core/event.js'
import { type Attributes, judged } from './attributes.js'
import type { Delivery } from '../audit/delivery.js'
import { shown } from '../audit/secrets.js'
import { contextOf } from './traces.js'

/** Records of the audit log as OTLP's: the record is the body, letter for letter, so that its chain can be verified wherever it lands. */
export const recordsTo = (logger: Logger, delivery: Delivery): Follower => ({
  recorded: (record, entry, now) => {
    if (!delivery.begin(record.length)) return
    const isStopped = entry?.verdict === 'block' || entry?.verdict === 'demote'
    logger.emit({
      eventName: 'mcp_customs.audit',
      timestamp: now,
      observedTimestamp: now,
      severityNumber: isStopped ? SeverityNumber.WARN : SeverityNumber.INFO,
      severityText: isStopped ? 'WARN' : 'INFO',
      body: record,
      ...(entry && { attributes: attributesOf(entry) }),
      context: entry ? contextOf(entry) : ROOT_CONTEXT,
    })
  },
})

/** What one looks for. */
const attributesOf = (entry: Entry): Attributes => ({
  'mcp.method.name': shown(entry.event),
  'mcp_customs.server': entry.server,
  'mcp_customs.session': entry.session,
  ...judged(entry),
  ...(entry.tool !== undefined && { 'gen_ai.tool.name': shown(entry.tool) }),
})
