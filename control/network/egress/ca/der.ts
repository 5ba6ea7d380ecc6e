/** The few forms of a certificate that node:crypto reads but does not write. */
import { createHash, type KeyObject } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  AttributeTypeAndValue,
  AttributeValue,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'
import { isAddress } from '../../../../shared/policy/host.ts'

export { AsnConvert, Certificate, TBSCertificate, Validity, Version }

const commonName = '2.5.4.3'
const ecdsaWithSha256 = '1.2.840.10045.4.3.2'

export const signatureAlgorithm = (): AlgorithmIdentifier => new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 })

export const nameOf = (text: string): Name =>
  new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type: commonName, value: new AttributeValue({ utf8String: text }) }),
    ]),
  ])

export const publicKeyInfo = (key: KeyObject): SubjectPublicKeyInfo =>
  AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo)

/** RFC 5280, section 4.2.1.2: the SHA-1 of the public key's bits names it; nothing rests on it. */
const keyId = (info: SubjectPublicKeyInfo): ArrayBuffer => {
  const hash = createHash('sha1').update(Buffer.from(info.subjectPublicKey)).digest()
  return hash.buffer.slice(hash.byteOffset, hash.byteOffset + hash.length)
}

const extension = (id: string, critical: boolean, value: object): Extension =>
  new Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })

export const authorityExtensions = (key: KeyObject): Extensions =>
  new Extensions([
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
    extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyId(publicKeyInfo(key)))),
  ])

const alternativeName = (host: string): GeneralName =>
  isAddress(host) ? new GeneralName({ iPAddress: host }) : new GeneralName({ dNSName: host })

export const leafExtensions = (host: string, key: KeyObject, issuer: KeyObject): Extensions =>
  new Extensions([
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectAltName, true, new SubjectAlternativeName([alternativeName(host)])),
    extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyId(publicKeyInfo(key)))),
    extension(
      id_ce_authorityKeyIdentifier,
      false,
      new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyId(publicKeyInfo(issuer))) }),
    ),
  ])
