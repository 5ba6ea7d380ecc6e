/** Files of a template as a tar archive, below a directory of its name. */
import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import type { Template } from './shipped/templates.ts'

export const archiveOf = ({ entry: { name }, files }: Template): Readable => {
  const tar = pack()
  // The same bytes every time.
  for (const [path, text] of Object.entries(files))
    tar.entry({ name: `${name}/${path}`, mode: 0o644, mtime: new Date(0) }, text)
  tar.finalize()
  return Readable.from(tar)
}
