import type { Rule } from '../core/rule.js'
import { advice } from './advice.js'
import { annotations } from './annotations.js'
import { base64 } from './base64.js'
import { call } from './call.js'
import * as content from './content.js'
import { definitionRules } from './definition.js'
import { header } from './header.js'
import { contentHiddenText, toolHiddenText } from './hidden-text.js'
import { icon } from './icon.js'
import { mime } from './mime.js'
import { result } from './result.js'
import { server } from './server.js'
import { uri } from './uri.js'
import { wire } from './wire.js'

/**
 * Every rule that looks at one thing by itself, in the order in which findings are reported. What takes the memory of
 * a session (wire/id, tool/duplicate, tool/drift) is the core's own.
 */
export const rules: readonly Rule[] = [
  ...wire,
  ...definitionRules,
  ...annotations,
  toolHiddenText,
  icon,
  header,
  ...call,
  ...result,
  content.type,
  base64,
  mime,
  uri,
  content.annotations,
  contentHiddenText,
  ...server,
  ...advice,
]
