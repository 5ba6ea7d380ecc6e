/** What a machine has fsynced is there after the box has lost its power, whatever of the rest has reached its disk. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { bytesPerMb, mkfsArguments } from '../../../../../control/drivers/oci/disk/shape.ts'
import { tendDisk } from '../../../../../control/drivers/oci/disk/tend.ts'
import { program } from '../../../../../control/drivers/oci/native/programs.ts'
import { whyNoMachines } from '../../../../support/machine.ts'
import { afterPowerLoss, epochsOf, type Epoch } from '../../../../support/power-loss.ts'
import { skipFile } from '../../../../support/skip-file.ts'
import { until } from '../../../../support/until.ts'

skipFile(whyNoMachines())
skipFile(!existsSync('/dev/fuse') && 'needs FUSE')

const rounds = 20
/** Moments that are looked at. */
const moments = 15
const dir = t.testdir({ stage: {}, disk: '', step: Buffer.alloc(4) as unknown as string })
const place = (name: string) => join(dir, name)
const programs = join(import.meta.dirname, '../../../../programs')

/** Runs a command where the disk is seen as a machine's is. */
const onDisk = (disk: string, ...command: string[]): void =>
  void execFileSync(program('with-disk'), [place('stage'), disk, ...command], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })

const record = async (): Promise<Epoch[]> => {
  writeFileSync(place('blank'), '')
  truncateSync(place('blank'), 24 * bytesPerMb)
  execFileSync('mkfs.ext4', mkfsArguments(place('blank')))
  copyFileSync(place('blank'), place('backing'))
  execFileSync('gcc', [
    '-O2',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-o',
    place('record-writes'),
    join(programs, 'record-writes.c'),
  ])
  const args = ['disk', 'backing', 'log', 'step'].map(place)
  const recorder = spawn(place('record-writes'), args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(recorder, 'close')
  await once(recorder.stdout, 'data')
  // Until somebody has asked for its size it is empty for a loop device of Linux 6.1.
  t.equal((await stat(place('disk'))).size, 24 * bytesPerMb)
  try {
    onDisk(place('disk'), process.execPath, join(programs, 'fsyncs.ts'), place('step'), String(rounds))
  } finally {
    // The loop device lets go of it a moment later.
    const unmount = () => execFileSync('umount', [place('disk')], { stdio: 'ignore' })
    await until(() => {
      try {
        unmount()
        return true
      } catch {
        return false
      }
    }, 'the disk to be let go of')
  }
  t.equal((await ended)[0], 0, 'everything was written down')
  return epochsOf(place('log'))
}

const content = (name: string): string => {
  const path = join(place('found'), name)
  return existsSync(path) ? readFileSync(path, 'latin1') : ''
}

const isOf = (text: string, round: number, bytes: number): boolean =>
  text === `${round}:`.padEnd(bytes, String.fromCharCode(97 + (round % 26)))

/** What is missing of that which was fsynced before, by name. */
const missing = (step: number): string[] => {
  const lost: string[] = []
  const log = content('log')
  for (let round = 1; round <= step; round++) {
    if (!isOf(content(`files/${round}`), round, 300 * round)) lost.push(`files/${round}`)
    if (log.slice((round - 1) * 4_096, round * 4_096) !== `${round}:`.padEnd(4_096, 'z')) lost.push(`record ${round}`)
  }
  const kept = content('replaced/kept')
  const [round = 0] = [Number(/^\d+/.exec(kept)?.[0] ?? 0)]
  if (step > 0 && !(round >= step && isOf(kept, round, 5_000))) lost.push('replaced/kept')
  return lost
}

/** With a third of the moments all was written and only the flush is missing; with the others some blocks are. */
const reachedAt = (moment: number) => (index: number) => moment % 3 === 0 || (index * 7 + moment * 13) % 5 > 1

const epochs = await record()
t.ok(epochs.length > rounds * 7, `${epochs.length} flushes: two for each commit of the journal`)
// Each third moment is one at which something is discarded: what was deleted must not be gone before that it was deleted is on the disk.
const all = [...epochs.keys()].filter(index => index > 0)
const discarding = all.filter(index => epochs[index]?.changes.some(change => !change.bytes))
t.ok(discarding.length > rounds / 2, `${discarding.length} flushes after something was discarded`)
for (let moment = 0; moment < moments; moment++) {
  const places = moment % 3 === 0 ? discarding : all
  const point = places[Math.floor(((moment + 1) * places.length) / (moments + 1))] as number
  const [last, step] = [epochs[point] as Epoch, epochs[point - 1]?.step ?? 0]
  const disk = place(`disk-${moment}`)
  afterPowerLoss(disk, place('blank'), epochs.slice(0, point), last, reachedAt(moment))
  await tendDisk(disk, undefined)
  rmSync(place('found'), { recursive: true, force: true })
  mkdirSync(place('found'))
  onDisk(disk, '/bin/cp', '-r', 'files', 'replaced', 'log', place('found'))
  t.same(missing(step), [], `power lost after flush ${point} of ${epochs.length}, round ${step}`)
  rmSync(disk)
}
