/**
 * What the driver does with one machine's disk on a file system with project quotas, without the machine: `project-steps.ts start|remove
 * <directory>`. The disk's promise is in `disk.json` as it would be in the marker.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Disk } from '../../control/drivers/oci/disk/kind.ts'
import { projectDisks } from '../../control/drivers/oci/disk/project-disk.ts'
import { filesOf } from '../../control/drivers/oci/layout.ts'

const [verb, place] = process.argv.slice(2) as [string, string]
const files = filesOf(place, 'm')
const kind = projectDisks()
const note = join(files.dir, 'disk.json')
const image = join(place, 'image')

const noted = (): Disk | undefined => (existsSync(note) ? JSON.parse(readFileSync(note, 'utf8')) : undefined)
const write = (disk: Disk): void => {
  writeFileSync(`${note}.new`, JSON.stringify(disk))
  renameSync(`${note}.new`, note)
}

if (verb === 'start') {
  mkdirSync(files.dir, { recursive: true })
  const earlier = noted()
  const disk = earlier ? kind.again(files, earlier) : kind.plan(files, {}, 32)
  write(disk)
  const root = { files, image, hostname: 'm', address: '10.0.0.2', resolvers: [], etc: {}, overlay: true }
  await kind.prepare({ root, disk, earlier })
  kind.bound(files, disk)
} else {
  const disk = noted()
  if (disk) await kind.drop(files, disk)
  rmSync(files.dir, { recursive: true, force: true })
}
