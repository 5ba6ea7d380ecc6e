/** Files as tools. Paths are taken as given: no `~`, no percent rules; relative ones begin in the working directory. */
import { posix } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import { s } from '../../../shared/schema.ts'
import { writeShape } from '../../../shared/wire/filesystem.ts'
import { directoryShape, fileShape } from '../../../shared/wire/file-shapes.ts'
import type { Files } from '../../filesystem/files.ts'
import { replaceText } from '../edit.ts'
import { tool, type Tool } from '../tool.ts'

export interface FileToolDeps {
  readonly files: Files
  readonly workdir: string
}

const where = 'Absolute, or relative to the working directory'
const path = s.string().check(s.minLength(1, 'is required'))
const done = s.object({ path: s.string(), message: s.string() })
/** A file to edit is held in memory. */
const maxEditBytes = 64 * 1024 * 1024

/** A mode as octal text; for invalid text the default, as clients of this tool expect. */
const modeOf = (permissions: string | null | undefined, fallback: number): number =>
  permissions && /^[0-7]{1,4}$/.test(permissions) ? Number.parseInt(permissions, 8) : fallback

const absolute = ({ workdir }: FileToolDeps, given: string): string => {
  if (given.includes('\0')) throw fail('invalid_argument', { field: 'path', reason: 'must not contain NUL' })
  return posix.resolve(workdir, given)
}

const readFile = async (deps: FileToolDeps, given: string) => {
  const read = await deps.files.read(absolute(deps, given), given)
  if (!('content' in read)) throw fail('invalid_argument', { field: 'path', reason: `${given} is a directory` })
  return read
}

const workingDirectoryTool = ({ workdir }: FileToolDeps): Tool =>
  tool({
    name: 'fsGetWorkingDirectory',
    readOnly: true,
    description: 'The directory that relative paths begin in.',
    input: s.strictObject({}),
    output: s.object({ path: s.string() }),
    run: () => ({ path: workdir }),
  })

const listTool = (deps: FileToolDeps): Tool =>
  tool({
    name: 'fsListDirectory',
    readOnly: true,
    description: 'List one level of a directory.',
    about: { path: where },
    input: s.strictObject({ path }),
    output: s.object({ directory: directoryShape }),
    async run(input) {
      const directory = await deps.files.read(absolute(deps, input.path), input.path)
      if (!('files' in directory))
        throw fail('invalid_argument', { field: 'path', reason: `${input.path} is not a directory` })
      return { directory }
    },
  })

const readTool = (deps: FileToolDeps): Tool =>
  tool({
    name: 'fsReadFile',
    readOnly: true,
    description: 'Read a file as text, with its facts.',
    about: { path: where },
    input: s.strictObject({ path }),
    output: fileShape,
    async run(input) {
      const file = await readFile(deps, input.path)
      return { ...file, name: input.path, lastModified: file.lastModified.replace(/\.\d+/, '') }
    },
  })

const writeTool = (deps: FileToolDeps): Tool =>
  tool({
    name: 'fsWriteFile',
    description: 'Write a file (its parents are made) or, with isDirectory, make a directory.',
    about: {
      path: where,
      content: 'All of the file as text; empty unless given',
      permissions: 'Octal, such as 600; 644 for a file and 755 for a directory unless given',
      isDirectory: 'Make a directory',
    },
    input: s.strictObject({
      path,
      content: s.nullish(writeShape.shape.content),
      permissions: s.nullish(writeShape.shape.permissions),
      isDirectory: s.nullish(writeShape.shape.isDirectory),
    }),
    output: done,
    async run({ path: given, content, permissions, isDirectory }) {
      if (isDirectory) await deps.files.makeDirectory(absolute(deps, given), modeOf(permissions, 0o755))
      else await deps.files.write(absolute(deps, given), content ?? '', modeOf(permissions, 0o644))
      return { path: given, message: `${isDirectory ? 'Directory created' : 'File written'} successfully` }
    },
  })

const editTool = (deps: FileToolDeps): Tool =>
  tool({
    name: 'fsEditFile',
    description: 'Replace a text in a file. It must occur exactly once unless replaceAll is set.',
    about: {
      path: where,
      oldString: 'The text to replace, exactly as it is in the file, with enough around it to occur once',
      newString: 'What comes in its place',
      replaceAll: 'Replace every occurrence',
    },
    input: s.strictObject({ path, oldString: s.string(), newString: s.string(), replaceAll: s.nullish(s.boolean()) }),
    output: s.object({ path: s.string(), occurrencesReplaced: s.int() }),
    async run({ path: given, oldString, newString, replaceAll }) {
      const { content, size } = await readFile(deps, given)
      if (size > maxEditBytes)
        throw fail('invalid_argument', { field: 'path', reason: `is larger than ${maxEditBytes} bytes` })
      const before = Buffer.from(content)
      if (before.length !== size) throw fail('invalid_argument', { field: 'path', reason: 'is not UTF-8 text' })
      const edit = { oldString, newString, replaceAll: replaceAll ?? false, most: maxEditBytes }
      const { text, replaced } = replaceText(before, edit)
      // Written in place, so that mode and owner stay.
      await deps.files.write(absolute(deps, given), text, 0o644)
      return { path: given, occurrencesReplaced: replaced }
    },
  })

const deleteTool = (deps: FileToolDeps): Tool =>
  tool({
    name: 'fsDeleteFileOrDirectory',
    description: 'Delete a file, or a directory: an empty one, or with recursive all of it.',
    about: {
      path: where,
      isDirectory: 'What must be there: a directory, or a file; unless given, whatever is there is deleted',
      recursive: 'Delete a directory with all that is in it',
    },
    input: s.strictObject({ path, isDirectory: s.nullish(s.boolean()), recursive: s.nullish(s.boolean()) }),
    output: done,
    async run({ path: given, isDirectory, recursive }) {
      const target = absolute(deps, given)
      if (isDirectory !== null && isDirectory !== undefined) {
        if (((await deps.files.kindOf(target)) === 'directory') !== isDirectory)
          throw fail('invalid_argument', {
            field: 'isDirectory',
            reason: `${given} is ${isDirectory ? 'not ' : ''}a directory`,
          })
      }
      const kind = await deps.files.remove(target, recursive ?? false)
      return { path: given, message: `${kind === 'file' ? 'File' : 'Directory'} deleted successfully` }
    },
  })

export const fileTools = (deps: FileToolDeps): Tool[] => [
  workingDirectoryTool(deps),
  listTool(deps),
  readTool(deps),
  writeTool(deps),
  editTool(deps),
  deleteTool(deps),
]
