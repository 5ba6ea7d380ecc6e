import { chmodSync } from 'node:fs'
import t from 'tap'
import { imageTools } from '../../../../control/ops/doctor/image-tools.ts'
import { report } from '../../../../control/ops/doctor/report.ts'

const probe = (usable: boolean) => ({
  usable,
  findings: [
    { ok: true, what: 'runs as root' },
    { ok: usable, what: 'runc starts a container', ...(usable ? {} : { next: 'install runc' }) },
  ],
  protects: ['files'],
  doesNotProtect: ['the kernel'],
})

t.test('a box that runs Hutch as configured is healthy', async t => {
  const { text, healthy } = report([{ driver: 'oci (runc)', configured: true, probe: probe(true) }], [])
  t.equal(healthy, true)
  t.match(text, /oci \(runc\), configured: usable\n {2}ok {3}runs as root/)
  t.match(text, /does not protect\n {4}- the kernel/)
})

t.test('a configured driver that fails is not made good by another, which is named', async t => {
  const { text, healthy } = report(
    [
      { driver: 'oci (runsc)', configured: true, probe: probe(false) },
      { driver: 'oci (runc)', configured: false, probe: probe(true) },
    ],
    [],
  )
  t.equal(healthy, false)
  t.match(text, /FAIL runc starts a container\n {7}→ install runc/)
  t.match(text, /These can: oci \(runc\)/)
})

t.test('nothing usable says so', async t => {
  const { text, healthy } = report([{ driver: 'oci (runc)', configured: true, probe: probe(false) }], [])
  t.equal(healthy, false)
  t.match(text, /No driver can be used/)
})

t.test('tools for images that are missing are named, and the box is healthy without', async t => {
  const path = t.testdir({ bin: { skopeo: '#!/bin/sh\n' } })
  chmodSync(`${path}/bin/skopeo`, 0o755)
  const { text, healthy } = report(
    [{ driver: 'oci (runc)', configured: true, probe: probe(true) }],
    imageTools(`${path}/bin`),
  )
  t.equal(healthy, true)
  t.match(
    text,
    /images:\n {2}FAIL umoci is missing: images of registries cannot be pulled, nor others brought in\n {7}→ apt-get install umoci/,
  )
  t.match(text, /ok {3}skopeo/)
  t.notMatch(report([], imageTools('/usr/bin:/bin')).text, /FAIL/)
})
