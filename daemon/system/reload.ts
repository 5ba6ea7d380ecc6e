import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import { parse, s } from '../../shared/schema.ts'
import { environmentBytes, variablesWithin } from '../../shared/variables.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import type { Environment } from '../environment.ts'

const document = s.object({
  generation: s.optional(s.int()),
  environment: s.nullish(variablesWithin(environmentBytes.sandbox)),
})

const read = (path: string): string => {
  try {
    return readRegularFile(path).toString('utf8')
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR')
      throw fail('not_found', { kind: 'metadata document', name: path }, error)
    throw fail('operation_failed', { reason: `cannot read the metadata document: ${messageOf(error)}` }, error)
  }
}

/** The first of the documents that is there. */
const firstOf = (paths: readonly string[]): { path: string; content: string } => {
  const [path, ...more] = paths as readonly [string, ...string[]]
  try {
    return { path, content: read(path) }
  } catch (error) {
    if (more.length > 0 && isError(error, 'not_found')) return firstOf(more)
    throw error
  }
}

const decode = (path: string, content: string) => {
  try {
    return parse(document, JSON.parse(content), 'config')
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isError(error)) throw error
    throw fail('operation_failed', { reason: `bad metadata document ${path}: ${messageOf(error)}` }, error)
  }
}

/** Applies the platform's metadata document, the first of `paths` that is there, to the environment; nothing changes when it cannot be read. */
export const reloadFrom = (paths: readonly string[], environment: Environment) => {
  const { path, content } = firstOf(paths)
  const { generation, environment: variables } = decode(path, content)
  return { generation: generation ?? 0, ...environment.reload(variables ?? {}) }
}
