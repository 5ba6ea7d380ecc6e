# Sourced before npm is used.
# npm under the pinned Node trusts what the machine trusts (a proxy's own authority, say).
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}"
fi
