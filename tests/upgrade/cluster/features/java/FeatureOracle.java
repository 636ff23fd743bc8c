package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;

/**
 * Asks the controller's own classes, a line for a question, with `|` between its parts.
 *
 * update | finalized `a=1,b=2` | brokers `1:a=0-2,b=7-30;2:...` | controllers, the active one first | quorum `1,2` |
 * updates `a=2:1` (level and code of the upgrade type). The answer is the code, the records that it would write as
 * `a=2`, and the message, with tabs between them.
 *
 * register | finalized | brokers | controllers | quorum | the new broker `3:a=0-2`. The answer is the same without
 * records.
 */
public final class FeatureOracle {
    private static final String KRAFT = KRaftVersion.FEATURE_NAME;

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(answer(line.split("\\|", -1)));
            System.out.flush();
        }
    }

    private static String answer(String[] question) {
        Map<String, Short> finalized = levels(question[1]);
        FeatureControlManager features = manager(finalized, nodes(question[2]), nodes(question[3]), question[4]);
        return question[0].equals("update") ? update(features, question[5]) : register(features, nodes(question[5]));
    }

    private static String update(FeatureControlManager features, String asked) {
        Map<String, Short> levels = new HashMap<>();
        Map<String, UpgradeType> types = new HashMap<>();
        for (String one : parts(asked, ",")) {
            String[] words = one.split("[=:]");
            levels.put(words[0], Short.valueOf(words[1]));
            types.put(words[0], UpgradeType.fromCode(Integer.parseInt(words[2])));
        }
        ControllerResult<ApiError> result = features.updateFeatures(levels, types, false, 0);
        Map<String, Short> written = new TreeMap<>();
        for (ApiMessageAndVersion record : result.records()) {
            if (record.message() instanceof FeatureLevelRecord) {
                FeatureLevelRecord level = (FeatureLevelRecord) record.message();
                written.put(level.name(), level.featureLevel());
            }
        }
        String records = written.entrySet().stream().map(Object::toString).collect(Collectors.joining(","));
        return result.response().error().code() + "\t" + records + "\t" + result.response().message();
    }

    private static String register(FeatureControlManager features, Map<Integer, Map<String, VersionRange>> broker) {
        ClusterControlManager cluster = new ClusterControlManager.Builder().
            setClusterId("cluster").
            setFeatureControlManager(features).
            setBrokerShutdownHandler((id, handled, records) -> { }).
            build();
        cluster.activate();
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().
            setClusterId("cluster").
            setIncarnationId(new Uuid(1, 1)).
            setLogDirs(List.of(new Uuid(1000, 1000)));
        broker.forEach((id, ranges) -> {
            request.setBrokerId(id);
            ranges.forEach((name, range) -> request.features().add(new BrokerRegistrationRequestData.Feature().
                setName(name).setMinSupportedVersion(range.min()).setMaxSupportedVersion(range.max())));
        });
        try {
            cluster.registerBroker(request, 1, features.finalizedFeatures(Long.MAX_VALUE), false);
            return "0\tnull";
        } catch (ApiException refused) {
            return Errors.forException(refused).code() + "\t" + refused.getMessage();
        }
    }

    private static FeatureControlManager manager(
        Map<String, Short> finalized,
        Map<Integer, Map<String, VersionRange>> brokers,
        Map<Integer, Map<String, VersionRange>> controllers,
        String quorum
    ) {
        Map.Entry<Integer, Map<String, VersionRange>> active = controllers.entrySet().iterator().next();
        List<Integer> ids = parts(quorum, ",").stream().map(Integer::valueOf).collect(Collectors.toList());
        FeatureControlManager manager = new FeatureControlManager.Builder().
            setQuorumFeatures(new QuorumFeatures(active.getKey(), active.getValue(), ids)).
            setClusterFeatureSupportDescriber(new ClusterFeatureSupportDescriber() {
                @Override
                public Iterator<Map.Entry<Integer, Map<String, VersionRange>>> brokerSupported() {
                    return brokers.entrySet().iterator();
                }

                @Override
                public Iterator<Map.Entry<Integer, Map<String, VersionRange>>> controllerSupported() {
                    return controllers.entrySet().iterator();
                }
            }).
            setKRaftVersionAccessor(new KRaftVersionAccessor() {
                @Override
                public KRaftVersion kraftVersion() {
                    return KRaftVersion.fromFeatureLevel(finalized.getOrDefault(KRAFT, (short) 0));
                }

                @Override
                public void upgradeKRaftVersion(int epoch, KRaftVersion version, boolean validateOnly) {
                    // what this writes is a control record of the quorum
                }
            }).
            build();
        finalized.forEach((name, level) -> {
            if (!name.equals(KRAFT)) {
                manager.replay(new FeatureLevelRecord().setName(name).setFeatureLevel(level));
            }
        });
        return manager;
    }

    private static Map<Integer, Map<String, VersionRange>> nodes(String text) {
        Map<Integer, Map<String, VersionRange>> nodes = new java.util.LinkedHashMap<>();
        for (String node : parts(text, ";")) {
            String[] halves = node.split(":", -1);
            Map<String, VersionRange> ranges = new java.util.LinkedHashMap<>();
            for (String range : parts(halves[1], ",")) {
                String[] words = range.split("[=-]");
                ranges.put(words[0], VersionRange.of(Short.parseShort(words[1]), Short.parseShort(words[2])));
            }
            nodes.put(Integer.valueOf(halves[0]), ranges);
        }
        return nodes;
    }

    private static Map<String, Short> levels(String text) {
        Map<String, Short> levels = new TreeMap<>();
        for (String level : parts(text, ",")) {
            String[] words = level.split("=");
            levels.put(words[0], Short.valueOf(words[1]));
        }
        return levels;
    }

    private static List<String> parts(String text, String separator) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(separator));
    }

    private FeatureOracle() {
    }
}
