/** The revisions of the protocol that are known, oldest first. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const

export type Revision = (typeof revisions)[number]

/** What differs between revisions, for those who judge by it. */
export interface Traits {
  /** Stateless: no handshake, `_meta` on each request, `resultType` on each result. */
  readonly modern: boolean
  /** JSON-RPC batches are allowed. */
  readonly batches: boolean
  /** `content` block types (schema.json, ContentBlock). */
  readonly contentTypes: ReadonlySet<string>
  /** The same of sampling (schema.json, SamplingMessageContentBlock). */
  readonly samplingTypes: ReadonlySet<string>
  /** `structuredContent` may be any JSON value, not an object only. */
  readonly anyStructuredContent: boolean
}

const blocks = (...types: readonly string[]): ReadonlySet<string> => new Set(types)

const blocksWithLinks = blocks('text', 'image', 'audio', 'resource_link', 'resource')
const samplingWithTools = blocks('text', 'image', 'audio', 'tool_use', 'tool_result')

const traits: Readonly<Record<Revision, Traits>> = {
  '2024-11-05': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocks('text', 'image', 'resource'), samplingTypes: blocks('text', 'image'),
  },
  '2025-03-26': {
    modern: false, batches: true, anyStructuredContent: false,
    contentTypes: blocks('text', 'image', 'audio', 'resource'), samplingTypes: blocks('text', 'image', 'audio'),
  },
  '2025-06-18': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocksWithLinks, samplingTypes: blocks('text', 'image', 'audio'),
  },
  '2025-11-25': {
    modern: false, batches: false, anyStructuredContent: false,
    contentTypes: blocksWithLinks, samplingTypes: samplingWithTools,
  },
  '2026-07-28': {
    modern: true, batches: false, anyStructuredContent: true,
    contentTypes: blocksWithLinks, samplingTypes: samplingWithTools,
  },
}

export const traitsOf = (revision: Revision): Traits => traits[revision]

const known: ReadonlySet<string> = new Set(revisions)

export const isRevision = (text: string): text is Revision => known.has(text)

/** The revision by which to judge: an unknown one is read as the newest known one that is not later (dates sort as text). */
export const nearest = (text: string): Revision =>
  isRevision(text) ? text : revisions.reduce<Revision>((best, revision) => (revision <= text ? revision : best), revisions[0])
