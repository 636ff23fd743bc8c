#!/bin/sh
# Restarts an instance that is a Deployment of its own: restart-deployment.sh DEPLOYMENT RELEASE [UPGRADE_FROM]
set -eu
deployment=$1 release=$2 upgrade_from=${3-}
image=${IMAGE:-registry.example/billing:2.0.0-kafka-}$release

# One change of the template is one restart; the time makes it one if image and value stay.
kubectl patch deployment "$deployment" --patch "
spec:
  template:
    metadata:
      annotations: {kubectl.kubernetes.io/restartedAt: '$(date -u +%Y-%m-%dT%H:%M:%SZ)'}
    spec:
      containers:
        - name: billing
          image: '$image'
          env:
            - {name: UPGRADE_FROM, value: '$upgrade_from'}
"
