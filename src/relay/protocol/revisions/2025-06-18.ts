import { annotations, contents, schema } from './2024-11-05.js'
import { revision20250326 as before } from './2025-03-26.js'
import { place, server, type Definition } from './definition.js'
import { anyObject, contentsOf, integer, oneOf, text } from './shape.js'

const meta = { '_meta?': anyObject }

const link =
  { name: text, uri: text, 'title?': text, 'description?': text, 'mimeType?': text, 'size?': integer }

export const revision20250618: Definition = {
  traits: {
    ...before.traits,
    batches: false,
    tool: {
      ...before.traits.tool, 'title?': text, 'outputSchema?': { ...schema, type: oneOf('object') }, ...meta,
    },
    block: { ...meta, 'annotations?': { ...annotations, 'lastModified?': text } },
    blocks: {
      ...before.traits.blocks,
      resource: { resource: contentsOf({ ...contents, ...meta }) },
      resource_link: link,
    },
  },
  methods: { 'elicitation/create': { ...server, read: 'all', inParams: [place('uri', 'url')] } },
  paramKeys: 'context requestedSchema',
  resultKeys: 'action',
}
