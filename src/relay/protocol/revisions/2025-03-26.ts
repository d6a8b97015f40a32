import { data, revision20241105 as before } from './2024-11-05.js'
import type { Definition } from './definition.js'
import { flag, text } from './shape.js'

const annotations = {
  'title?': text, 'readOnlyHint?': flag, 'destructiveHint?': flag, 'idempotentHint?': flag,
  'openWorldHint?': flag,
}

export const revision20250326: Definition = {
  traits: {
    ...before.traits,
    batches: true,
    toolResult: false,
    tool: { ...before.traits.tool, 'annotations?': annotations },
    blocks: { ...before.traits.blocks, audio: data },
    sampled: { ...before.traits.sampled, audio: [] },
  },
}
