/**
 * Sources of this checkout without their types, as Node makes them, made once for all processes of a test run: to strip them is a sixth
 * of what a file that opens a whole host costs. JavaScript, as this one would otherwise be stripped in each process. Node's own cache
 * (NODE_COMPILE_CACHE) keeps compiled functions too, for which V8 counts less: coverage would be wrong.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('..', import.meta.url).href
const directory = fileURLToPath(new URL(`.runtime/stripped/${process.version}/`, root))

const stripped = text => {
  const file = directory + createHash('sha256').update(text).digest('hex')
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const made = stripTypeScriptTypes(text)
  mkdirSync(directory, { recursive: true })
  const beside = `${file}.${process.pid}`
  writeFileSync(beside, made)
  renameSync(beside, file)
  return made
}

registerHooks({
  load(url, context, next) {
    const isOurs = url.startsWith(root) && url.endsWith('.ts') && !url.includes('/node_modules/')
    if (!isOurs) return next(url, context)
    return { format: 'module', source: stripped(readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true }
  },
})
