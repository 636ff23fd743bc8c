#!/bin/sh
# Restarts one Pod of a StatefulSet whose updateStrategy is OnDelete: restart-pod.sh POD RELEASE [UPGRADE_FROM]
set -eu
pod=$1 release=$2 upgrade_from=${3-}
set=${pod%-*} # billing-0 is a Pod of billing
image=${IMAGE:-registry.example/billing:2.0.0-kafka-}$release

# Image and value change together. OnDelete: Pods that run keep theirs.
generation=$(kubectl patch statefulset "$set" --output 'jsonpath={.metadata.generation}' --patch "
spec:
  template:
    spec:
      containers:
        - name: billing
          image: '$image'
          env:
            - {name: UPGRADE_FROM, value: '$upgrade_from'}
")
# Before the controller has seen the change, it would make the Pod from the previous template.
kubectl wait statefulset "$set" --for "jsonpath={.status.observedGeneration}=$generation" --timeout 60s
kubectl delete pod "$pod" --timeout 120s
