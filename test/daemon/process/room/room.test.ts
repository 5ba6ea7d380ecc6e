/** Output that a full disk has swallowed is said to be missing. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createRoom } from '../../../../daemon/process/room/room.ts'
import { daemon } from '../../../support/daemon.ts'
import { smallDisk } from '../../../support/small-disk.ts'

const line = /\[The disk was full while this process ran: output may be missing\]\n$/

/** A daemon whose outputs and records are on a disk of its own, and what fills that, and makes room on it again. */
const onDisk = async (t: Test) => {
  const disk = smallDisk(t, 4)
  if (!disk) return undefined
  const env = { SANDBOX_LOG_DIR: join(disk, 'logs'), HUTCH_STATE_DIR: join(disk, 'state') }
  const { call } = await daemon(t, { env })
  const ballast = join(disk, 'ballast')
  const fill = () => {
    try {
      writeFileSync(ballast, Buffer.alloc(8 * 1024 * 1024))
    } catch (error) {
      t.match(error, { code: 'ENOSPC' })
    }
  }
  const run = async (command: string) =>
    (await call('POST', '/process', { body: { command, waitForCompletion: true } })).body
  return { call, run, disk, ballast, fill, free: () => rmSync(ballast) }
}

t.test('a command whose output is lost says so, though it ended with 0', async t => {
  const made = await onDisk(t)
  if (!made) return void t.pass('no right to mount: not looked at', { skip: 'needs a mount of its own' })
  const { call, run, fill, free } = made
  const before = await run('echo hello')
  t.match(before, { exitCode: 0, logs: 'hello\n', stderr: '', outputIncomplete: undefined })
  fill()
  const lost = await run('echo hello; true')
  t.match(lost, { exitCode: 0, stdout: '', stderr: line, logs: line, outputIncomplete: true })
  const events = (
    await call('POST', '/process', { body: { command: 'echo hello; true' }, headers: { accept: 'text/event-stream' } })
  ).text
  t.match(events, /"type":"stderr","data":"\[The disk was full[^\n]*\n\{"type":"result"/)
  const started = (await call('POST', '/process', { body: { command: 'echo hello; sleep 0.2', name: 'later' } })).body
  t.match(started, { logs: null, stderr: '' }, 'nothing is answered yet')
  t.match((await call('GET', `/process/later/logs/stream`)).text, /stderr:\[The disk was full/)
  t.match((await call('GET', `/process/later/logs`)).body, { stderr: line, logs: line })
  free()
  t.match(await run('echo again'), { stdout: 'again\n', stderr: '', outputIncomplete: undefined })
  t.match((await call('GET', '/process/later')).body, { outputIncomplete: true }, 'it stays marked')
})

t.test('a disk that is full in the middle is noticed too', async t => {
  const made = await onDisk(t)
  if (!made) return void t.pass('no right to mount: not looked at', { skip: 'needs a mount of its own' })
  const { run, ballast, disk } = made
  const command = `head -c 8000000 /dev/zero > ${ballast}; echo lost; sleep 6; rm ${ballast}; echo end`
  t.match(await run(command), { exitCode: 0, stdout: /^(lost\n)?end\n$/, outputIncomplete: true })
  t.notOk(createRoom(disk).isGone())
})

t.test('a directory that is missing, or not ours, is no full disk', async t => {
  t.notOk(createRoom('/nowhere/at/all').isGone())
})
